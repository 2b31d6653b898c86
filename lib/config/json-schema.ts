import { z } from 'zod'
import { configSchema } from './schema.ts'

/** The JSON Schema of a config file, by which editors complete and check the YAML. */
export function configJsonSchema(): string {
  // What the file says, before `2MB` becomes a number and a text a URL.
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })
  return `${JSON.stringify({ title: 'Gateway configuration', ...schema }, null, 2)}\n`
}
