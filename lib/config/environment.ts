import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMapping, type Path } from './config-error.ts'
import type { Problems } from './problems.ts'

/** Variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

const variable = /\$(\$?)\{([^}]*)\}/g
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

interface Substitution {
  readonly value: unknown
  /** Strings that name a variable which is not set, or is empty. */
  readonly missing: readonly { readonly path: Path; readonly name: string }[]
  /** `${` with something else than a name in it. */
  readonly malformed: readonly { readonly path: Path; readonly text: string }[]
}

/**
 * Puts the environment's values in place of `${NAME}` in every string; `$${NAME}` stays as `${NAME}`. A
 * string with a missing variable becomes undefined. Empty counts as missing: compose files and CI systems
 * pass unset secrets on as empty strings.
 */
export function substitute(value: unknown, env: Environment): Substitution {
  const missing: { path: Path; name: string }[] = []
  const malformed: { path: Path; text: string }[] = []

  function text(source: string, path: Path): string | undefined {
    let isWhole = true
    const result = source.replace(variable, (whole, escape: string, name: string) => {
      if (escape !== '') return whole.slice(1)
      if (!variableName.test(name)) {
        malformed.push({ path, text: whole })
        return whole
      }
      const found = env[name]
      if (found !== undefined && found !== '') return found
      missing.push({ path, name })
      isWhole = false
      return ''
    })
    return isWhole ? result : undefined
  }

  function walk(node: unknown, path: Path): unknown {
    if (typeof node === 'string') return node.includes('${') ? text(node, path) : node
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, index]))
    if (isMapping(node))
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, [...path, key])]))
    return node
  }

  return { value: walk(value, []), missing, malformed }
}

/** How a reader of a message runs the command: in a checkout only npm finds it. */
export function commandName(env: Environment = process.env): string {
  return env['npm_command'] === undefined ? 'gateway' : 'npx gateway'
}

/** Puts variables in their places. Those of credentials may be missing: their providers are off. */
export function resolveVariables(merged: unknown, env: Environment, problems: Problems) {
  const { value, missing, malformed } = substitute(merged, env)
  const missingVariables = new Map<string, string[]>()
  for (const { path, text } of malformed) problems.add(path, `"${text}" names no variable; write \${NAME}`)
  for (const { path, name } of missing) {
    const provider = credentialOwner(path)
    if (provider === undefined) {
      problems.add(path, `the environment variable ${name} is not set`)
      problems.silence(path)
    } else {
      missingVariables.set(provider, [...(missingVariables.get(provider) ?? []), name])
    }
  }
  return { value: isMapping(value) ? value : {}, missingVariables }
}

/** The provider whose credential a path is: `providers.NAME.credentials[0]`. */
function credentialOwner([section, provider, key, index]: Path): string | undefined {
  return section === 'providers' && key === 'credentials' && index !== undefined
    ? String(provider)
    : undefined
}

const relativeDefault = join('config', 'gateway.yaml')

/**
 * The config file to use: the one that is named, else `GATEWAY_CONFIG`, else `config/gateway.yaml` here,
 * else the one that came with the gateway.
 */
export function findConfig(named: string | undefined, env: Environment = process.env): string {
  const chosen = named ?? env['GATEWAY_CONFIG']
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  const here = resolve(relativeDefault)
  return existsSync(here) ? here : shippedConfig()
}

/** The config file that came with the gateway. */
export function shippedConfig(): string {
  return join(packageRoot(), relativeDefault)
}

/** Two folders up in the source; one more where it was compiled into `dist`. */
function packageRoot(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  return existsSync(join(root, relativeDefault)) ? root : join(root, '..')
}
