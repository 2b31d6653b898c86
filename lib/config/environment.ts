import type { Path } from './config-error.ts'
import { isMapping } from './layers.ts'

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
    if (isMapping(node)) {
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, [...path, key])]))
    }
    return node
  }

  return { value: walk(value, []), missing, malformed }
}
