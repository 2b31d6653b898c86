import type { z } from 'zod'
import type { PluginConfig } from './config.ts'
import type { Path } from './config-error.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import { configSchema, pluginEntrySchema } from './schema.ts'
import { modelRouterOptions } from './model-router-options.ts'
import { rateLimitOptions } from './rate-limit-options.ts'
import { sizeLimitOptions } from './size-limit-options.ts'
import { usageTapOptions } from './usage-tap-options.ts'

/** The plugins there are, with what their options may be; absent: they take none. */
export type KnownPlugins = Readonly<Record<string, { readonly options?: z.ZodType }>>

/** The plugins that come with the gateway. */
export const shippedPlugins: KnownPlugins = {
  auth: {},
  'model-router': { options: modelRouterOptions },
  'rate-limit': { options: rateLimitOptions },
  'size-limit': { options: sizeLimitOptions },
  'upstream-proxy': {},
  'usage-tap': { options: usageTapOptions },
}

/** The enabled plugins in order. Options have passed the plugin's schema. */
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
    const parsed = parseOptions(options, known[name]?.options, [...path, name], problems)
    if (enabled !== false) plugins.push({ name, options: parsed })
  }
  return plugins
}

function parseOptions(
  options: Readonly<Record<string, unknown>>,
  schema: z.ZodType | undefined,
  path: Path,
  problems: Problems,
): PluginConfig['options'] {
  if (schema !== undefined) {
    const parsed = problems.parse(schema, options, path)
    return isMapping(parsed) ? parsed : {}
  }
  for (const option of Object.keys(options)) {
    problems.add([...path, option], 'unknown key: this plugin takes no options but enabled')
  }
  return {}
}
