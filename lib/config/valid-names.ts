import { z } from 'zod'
import type { Path } from './config-error.ts'

type JsonSchema = z.core.JSONSchema.JSONSchema

/** The keys that a schema allows at a path. Read from its JSON Schema, and only once something is wrong. */
export function validNamesAt(schema: z.ZodType, path: Path): readonly string[] {
  const names = new Set<string>()
  let level = branches(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  for (const part of path) level = level.flatMap(branch => step(branch, part))
  for (const branch of level) {
    for (const name of Object.keys(branch.properties ?? {})) names.add(name)
    const { propertyNames } = branch
    if (typeof propertyNames === 'object') {
      for (const name of propertyNames.enum ?? []) names.add(String(name))
    }
  }
  return [...names]
}

function step(schema: JsonSchema, part: string | number): JsonSchema[] {
  const { properties, additionalProperties, items } = schema
  const next = typeof part === 'number' ? items : (properties?.[part] ?? additionalProperties)
  if (Array.isArray(next)) return next.flatMap(item => branches(item))
  return branches(next)
}

function branches(schema: JsonSchema | boolean | undefined): JsonSchema[] {
  if (schema === undefined || typeof schema === 'boolean') return []
  const options = schema.anyOf ?? schema.oneOf
  return options === undefined ? [schema] : options.flatMap(option => branches(option))
}
