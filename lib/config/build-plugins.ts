import type { z } from 'zod'
import type { PluginConfig } from './config.ts'
import { isMapping, type Path } from './config-error.ts'
import type { Problems } from './problems.ts'
import { writtenAt } from './written.ts'
import { configSchema, pluginEntrySchema } from './schema.ts'
import { findPlugin, isPath, PluginLoadError } from '../plugin-api/load-plugin.ts'

/** The known plugins with the schemas of their options; a plugin without a schema has no options. */
export type KnownPlugins = Readonly<Record<string, { readonly options?: z.ZodType }>>

/**
 * The enabled plugins in order. Options of shipped plugins are checked against their schemas; external plugins check
 * their own when they are loaded.
 * @param known the shipped plugins; undefined skips the check of names, for callers that do not use plugins
 * @param file the config file that contains the list
 */
export function buildPlugins(
  section: unknown,
  known: KnownPlugins | undefined,
  file: string,
  problems: Problems,
): PluginConfig[] {
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
    const isShipped = !isPath(name) && (known === undefined || Object.hasOwn(known, name))
    const address = isShipped ? undefined : externalAddress(name, known, file, path, problems)
    if (!isShipped && address === undefined) continue
    if (seen.has(name)) problems.add(path, `"${name}" is in the list twice`)
    seen.add(name)
    const written = typeof entry === 'string' ? {} : (entry[name] ?? {})
    const { enabled = true, ...options } = written
    if (typeof enabled !== 'boolean') problems.add([...path, name, 'enabled'], 'must be true or false')
    if (enabled === false) continue
    const isChecked = isShipped && known !== undefined
    const checked = isChecked
      ? parseOptions(options, known[name]?.options, [...path, name], problems)
      : options
    const external = address !== undefined && {
      external: { address, written: writtenAt(problems.layers, [...path, name], options) },
    }
    plugins.push({ name, options: checked, ...external })
  }
  return plugins
}

/** The address of an external plugin; undefined, with a problem added, when it does not exist. */
function externalAddress(
  name: string,
  known: KnownPlugins | undefined,
  file: string,
  path: Path,
  problems: Problems,
): string | undefined {
  try {
    return findPlugin(name, file)
  } catch (error) {
    if (!(error instanceof PluginLoadError)) throw error
    // A single word is more likely a misspelled shipped plugin than a package.
    if (/^[\w-]+$/.test(name)) problems.addUnknown(path, 'plugin', name, Object.keys(known ?? {}))
    else problems.add(path, error.message)
    return undefined
  }
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
  for (const option of Object.keys(options))
    problems.add([...path, option], 'unknown key: this plugin takes no options but enabled')
  return {}
}
