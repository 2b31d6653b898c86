import type { z } from 'zod'
import type { PluginConfig } from './config.ts'
import type { Path } from './config-error.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import { configSchema, pluginEntrySchema } from './schema.ts'

/** The plugins there are, each with the schema of its options; undefined: options are not checked here. */
export type KnownPlugins = Readonly<Record<string, z.ZodType | undefined>>

/** The names of the pipeline as shipped, for callers that have no registry at hand. */
export const shippedPlugins: KnownPlugins = {
  auth: undefined,
  'model-router': undefined,
  'size-limit': undefined,
  'upstream-proxy': undefined,
  'usage-tap': undefined,
}

/** The enabled plugins in order. Options are those of the file, parsed where a schema is known. */
export function buildPlugins(section: unknown, known: KnownPlugins, problems: Problems): PluginConfig[] {
  const entries = section ?? configSchema.shape.plugins.parse(undefined)
  if (!Array.isArray(entries)) {
    problems.add(['plugins'], 'must be a list of plugins')
    return []
  }
  const plugins: PluginConfig[] = []
  const seen = new Set<string>()
  for (const [index, value] of entries.entries()) {
    const path: Path = ['plugins', index]
    const entry = problems.parse(pluginEntrySchema, value, path)
    if (entry === undefined) continue
    const names = typeof entry === 'string' ? [entry] : Object.keys(entry)
    const [name] = names
    if (name === undefined || names.length > 1) {
      problems.add(path, 'must hold one plugin; give each its own item of the list')
      continue
    }
    if (!Object.hasOwn(known, name)) {
      problems.addUnknown(path, 'plugin', name, Object.keys(known))
      continue
    }
    if (seen.has(name)) problems.add(path, `"${name}" is in the list twice`)
    seen.add(name)
    const written = typeof entry === 'string' ? {} : (entry[name] ?? {})
    const { enabled = true, ...options } = written
    if (typeof enabled !== 'boolean') problems.add([...path, name, 'enabled'], 'must be true or false')
    const schema = known[name]
    const parsed = schema === undefined ? options : problems.parse(schema, options, [...path, name])
    if (enabled !== false) plugins.push({ name, options: isMapping(parsed) ? parsed : {} })
  }
  return plugins
}
