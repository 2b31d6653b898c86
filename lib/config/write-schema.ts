import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { configSchema } from './schema.ts'

const lineLengthMax = 110
/** A list of plain values over several lines, with what stands before it on its first line. */
const plainList = /^( *.*)\[\n([^[\]{}]*)\n *\](,?)$/gm

/** The JSON Schema of a config file, by which editors complete and check the YAML. */
export function configJsonSchema(): string {
  // What the file says, before `2MB` becomes a number and a text a URL.
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })
  const text = JSON.stringify({ title: 'Gateway configuration', ...schema }, null, 2)
  // Laid out as the formatter does it, so that writing the file anew changes nothing but what changed.
  return `${text.replace(plainList, onOneLine)}\n`
}

function onOneLine(whole: string, before: string, items: string, comma: string): string {
  const line = `${before}[${items.trim().replaceAll(/,\n */g, ', ')}]${comma}`
  return line.length <= lineLengthMax ? line : whole
}

if (import.meta.main)
  writeFileSync(new URL('../../config/gateway.schema.json', import.meta.url), configJsonSchema())
