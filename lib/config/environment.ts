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
  /** Strings that name a variable which is unset or empty. */
  readonly missing: readonly { readonly path: Path; readonly name: string }[]
  /** `${` followed by something that is not a name. */
  readonly malformed: readonly { readonly path: Path; readonly text: string }[]
}

/**
 * Replaces `${NAME}` in every string with the value from the environment; `$${NAME}` becomes `${NAME}`. A string with
 * a missing variable becomes undefined. An empty variable counts as missing, because compose files and CI systems
 * pass unset secrets as empty strings.
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

/** The variable that a string consists of, as in `${NAME}`. */
export function wholeVariable(text: unknown): string | undefined {
  const name = typeof text === 'string' ? /^\$\{([^}]*)\}$/.exec(text.trim())?.[1] : undefined
  return name !== undefined && variableName.test(name) ? name : undefined
}

/** The command as the user of this process types it: in a checkout only npm finds it. */
export function commandName(env: Environment = process.env): string {
  return env['npm_command'] === undefined ? 'gateway' : 'npx gateway'
}

/** Replaces variables by their values. Those of credentials may be missing: their providers are off then. */
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

/** The provider whose credential a path points at: `providers.NAME.credentials[0]`. */
function credentialOwner([section, provider, key, index]: Path): string | undefined {
  return section === 'providers' && key === 'credentials' && index !== undefined
    ? String(provider)
    : undefined
}

const relativeDefault = join('config', 'gateway.yaml')

/**
 * The config file to use: `named`, else `GATEWAY_CONFIG`, else `config/gateway.yaml` in the working directory, else
 * the shipped one.
 */
export function findConfig(named: string | undefined, env: Environment = process.env): string {
  const chosen = named ?? env['GATEWAY_CONFIG']
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  const here = resolve(relativeDefault)
  return existsSync(here) ? here : shippedConfig()
}

/** The config file that is shipped with the gateway. */
export function shippedConfig(): string {
  return join(packageRoot(), relativeDefault)
}

/** Two folders up in the source; three in the compiled `dist`. */
function packageRoot(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  return existsSync(join(root, relativeDefault)) ? root : join(root, '..')
}
