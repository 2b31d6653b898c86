import { statSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { dirname, extname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nearest } from '../platform/nearest.ts'
import { ownErrorStatuses } from '../pipeline/errors.ts'
import type { PluginDefinition } from './plugin-api.ts'

/** A file or package that cannot be used as a plugin. */
export class PluginLoadError extends Error {
  override readonly name = 'PluginLoadError'
}

/** Whether a name in the config's list is a path. */
export function isPath(name: string): boolean {
  return /^\.{0,2}\//.test(name)
}

/**
 * Finds the plugin that a config names by its path or package.
 * @param configFile relative paths and packages are resolved from its folder
 * @returns its address, which changes with the file, so that a reload reads it again
 * @throws PluginLoadError
 */
export function findPlugin(name: string, configFile: string): string {
  const file = isPath(name) ? resolve(dirname(configFile), name) : packageFile(name, configFile)
  try {
    const { mtimeMs, size } = statSync(file)
    return `${pathToFileURL(file).href}?version=${mtimeMs}-${size}`
  } catch (cause) {
    throw new PluginLoadError(`there is no file ${file}`, { cause })
  }
}

function packageFile(name: string, configFile: string): string {
  try {
    return createRequire(configFile).resolve(name)
  } catch (cause) {
    throw new PluginLoadError(`the package "${name}" is not installed beside ${configFile}`, { cause })
  }
}

/** Resolves what plugins import, wherever their file is: a package cannot be found from every folder. */
const apiName = 'gateway/plugin'
const apiAddress = new URL(`./plugin-api${extname(import.meta.filename)}`, import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === apiName ? { url: apiAddress, shortCircuit: true } : next(specifier, context),
})

const definitionMembers = ['name', 'options', 'needs', 'provides', 'errors', 'create']

/**
 * Reads a plugin's one export.
 * @param address as `findPlugin` returned it
 * @throws PluginLoadError that says what is wrong with the file
 */
export async function loadPlugin(address: string): Promise<PluginDefinition> {
  const file = fileURLToPath(new URL(address.split('?', 1)[0] ?? ''))
  let module: Readonly<Record<string, unknown>>
  try {
    module = (await import(address)) as typeof module
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    throw new PluginLoadError(`${file} cannot be loaded: ${text}`, { cause })
  }
  // A CommonJS module lists its one export twice.
  const exported = [...new Set(Object.entries(module).filter(([name]) => name !== 'module.exports'))]
  const [definition, ...others] = [...new Set(exported.map(([, value]) => value))]
  if (definition === undefined || others.length > 0)
    throw new PluginLoadError(`${file} must have one export, the plugin, and has ${exported.length}`)
  const wrong = whatIsWrong(definition)
  if (wrong !== undefined) throw new PluginLoadError(`the plugin in ${file} ${wrong}`)
  return definition as PluginDefinition
}

function whatIsWrong(definition: unknown): string | undefined {
  if (typeof definition !== 'object' || definition === null) return 'is no object { name, create }'
  const { name, create, options, errors, needs, provides } = definition as Partial<PluginDefinition>
  const unknown = Object.keys(definition).find(member => !definitionMembers.includes(member))
  if (unknown !== undefined) return `has an unknown member "${unknown}"${hint(unknown, definitionMembers)}`
  if (typeof name !== 'string' || !/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name))
    return 'needs a name in lower case with hyphens, such as block-words'
  if (typeof create !== 'function') return `("${name}") has no function create(context, options)`
  if (options !== undefined && typeof options['~standard']?.validate !== 'function')
    return `("${name}") has options that are no Standard Schema`
  for (const [member, list] of Object.entries({ needs, provides })) {
    if (list !== undefined && !(Array.isArray(list) && list.every(fact => typeof fact === 'string')))
      return `("${name}") has ${member} that are no list of facts`
  }
  for (const [code, shape] of Object.entries(errors ?? {})) {
    if (!/^[a-z][a-z0-9_]*$/.test(code))
      return `("${name}") has the error "${code}", which is not in snake_case`
    if (!ownErrorStatuses.includes(shape.status)) {
      return `("${name}") gives the error "${code}" the status ${shape.status}; it may be one of ${ownErrorStatuses.join(', ')}`
    }
  }
  return undefined
}

const hookNames = 'start onRequest onRequestText onUpstreamRequest onResponse onCharge onEnd stop'.split(' ')

/**
 * Checks that what a plugin's `create` returned is an object of hooks.
 * @throws PluginLoadError
 */
export function checkHooks(name: string, hooks: unknown): void {
  if (typeof hooks !== 'object' || hooks === null || hooks instanceof Promise) {
    throw new PluginLoadError(
      `the plugin "${name}" must return its hooks from create, and not a promise of them`,
    )
  }
  for (const [hook, value] of Object.entries(hooks)) {
    if (!hookNames.includes(hook))
      throw new PluginLoadError(`the plugin "${name}" has an unknown hook "${hook}"${hint(hook, hookNames)}`)
    if (value !== undefined && typeof value !== 'function')
      throw new PluginLoadError(`the plugin "${name}" has a hook ${hook} that is no function`)
  }
}

function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? '' : `; did you mean "${near}"?`
}
