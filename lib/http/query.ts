import { holdsOwnKey } from './headers.ts'

interface CutQuery {
  /** The values, percent-decoded, in order. */
  readonly values: readonly string[]
  /** The path and query without the parameter; all other bytes are unchanged. */
  readonly rest: string
}

/**
 * Removes every `name=` from a query, including names with percent escapes, and every parameter that contains a key of
 * ours under another name.
 */
export function cutQueryParameter(pathAndQuery: string, name: string): CutQuery {
  const question = pathAndQuery.indexOf('?')
  if (question === -1) return { values: [], rest: pathAndQuery }
  const values: string[] = []
  const kept: string[] = []
  const parameters = pathAndQuery.slice(question + 1).split('&')
  for (const parameter of parameters) {
    if (nameOf(parameter) === name) values.push(valueOf(parameter))
    else if (!holdsOwnKey(decode(parameter))) kept.push(parameter)
  }
  if (kept.length === parameters.length) return { values, rest: pathAndQuery }
  const path = pathAndQuery.slice(0, question)
  return { values, rest: kept.length === 0 ? path : `${path}?${kept.join('&')}` }
}

interface QueryParameter {
  readonly name: string
  readonly value: string
}

/** Every parameter of a query, percent-decoded. Some servers treat `;` as `&`, so `;` separates parameters here too. */
export function queryParameters(pathAndQuery: string): readonly QueryParameter[] {
  const question = pathAndQuery.indexOf('?')
  if (question === -1) return []
  return pathAndQuery
    .slice(question + 1)
    .split(/[&;]/)
    .map(parameter => ({ name: nameOf(parameter), value: valueOf(parameter) }))
}

function nameOf(parameter: string): string {
  const equals = parameter.indexOf('=')
  return decode(equals === -1 ? parameter : parameter.slice(0, equals))
}

function valueOf(parameter: string): string {
  const equals = parameter.indexOf('=')
  return equals === -1 ? '' : decode(parameter.slice(equals + 1))
}

/** Decodes valid escapes and keeps the others: servers differ on them, and no name may slip through. */
function decode(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(/(?:%[0-9a-f]{2})+/gi, run => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}
