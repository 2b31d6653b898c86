import { GatewayError } from '../errors.ts'
import type { ObjectKind } from '../money/usage.ts'
import type { Operation, RouteMatch } from './dialect.ts'

/** One route: `POST /responses/{id}/cancel`. `{id}` stands for one segment, `{rest}` for all that follow. */
export interface RouteRow {
  readonly methods: readonly string[]
  readonly path: string
  readonly operation: Operation
  /** What the `{id}` names, where it names an object of the provider. */
  readonly object?: ObjectKind
  /** The `{id}` or `{rest}` is a model's name. */
  readonly isModel?: boolean
  /** The path is one of the provider's origin, not below the base URL. */
  readonly isAtOrigin?: boolean
}

interface CompiledRow extends RouteRow {
  readonly segments: readonly string[]
}

/** The routes of a dialect, matched on the path alone: clients add queries such as `?beta=true`. */
export class RouteTable {
  readonly #rows: readonly CompiledRow[]

  constructor(rows: readonly RouteRow[]) {
    this.#rows = rows.map(row => ({ ...row, segments: row.path.slice(1).split('/') }))
  }

  /** @throws GatewayError route_not_found, method_not_allowed, request_invalid */
  match(method: string, pathAndQuery: string): RouteMatch {
    const path = pathOf(pathAndQuery)
    const segments = path.slice(1).split('/')
    const allowed = new Set<string>()
    for (const row of this.#rows) {
      if (!fits(row.segments, segments)) continue
      if (row.methods.includes(method)) return found(row, segments, pathAndQuery)
      for (const other of row.methods) allowed.add(other)
    }
    if (allowed.size > 0) throw methodNotAllowed(method, path, [...allowed])
    throw routeNotFound(path)
  }
}

/** The path without its query. */
export function pathOf(pathAndQuery: string): string {
  const query = pathAndQuery.indexOf('?')
  return query === -1 ? pathAndQuery : pathAndQuery.slice(0, query)
}

/**
 * A path segment as the provider will read it.
 * @throws GatewayError request_invalid
 */
export function decodeSegment(segment: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch (cause) {
    throw new GatewayError('request_invalid', 'The path is not valid percent-encoded UTF-8.', { cause })
  }
  if (decoded === '' || decoded === '.' || decoded === '..' || hasSeparator(decoded)) {
    throw new GatewayError('request_invalid', 'The path has a segment that servers may read differently.')
  }
  return decoded
}

/** The refusal of a path that is none of the dialect's. */
export function routeNotFound(path: string): GatewayError {
  return new GatewayError('route_not_found', `There is no route ${path} here.`)
}

/** The refusal of a method, with those that are allowed. */
export function methodNotAllowed(method: string, path: string, allowed: readonly string[]): GatewayError {
  const allow = allowed.join(', ')
  return new GatewayError('method_not_allowed', `${method} is not possible on ${path}; ${allow} is.`, {
    details: { allow },
  })
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const takesRest = pattern.at(-1) === '{rest}'
  if (takesRest ? segments.length < pattern.length : segments.length !== pattern.length) return false
  return pattern.every(
    (part, index) =>
      part === segments[index] || part === '{rest}' || (part === '{id}' && segments[index] !== ''),
  )
}

function found(row: CompiledRow, segments: readonly string[], upstreamPath: string): RouteMatch {
  const index = row.segments.findIndex(part => part.startsWith('{'))
  if (index === -1) {
    return { operation: row.operation, upstreamPath, ...(row.isAtOrigin === true && { isAtOrigin: true }) }
  }
  // Names of models may have slashes of their own.
  const raw = row.segments[index] === '{rest}' ? segments.slice(index) : segments.slice(index, index + 1)
  const id = raw.map(decodeSegment).join('/')
  if (row.object !== undefined) {
    return { operation: row.operation, upstreamPath, object: { kind: row.object, id } }
  }
  if (row.isModel !== true) return { operation: row.operation, upstreamPath }
  let start = 1
  for (const segment of segments.slice(0, index)) start += segment.length + 1
  const end = start + raw.join('/').length
  return { operation: row.operation, upstreamPath, pathModel: id, pathModelSpan: { start, end } }
}

/** What servers take as a separator once it is decoded, and control characters. */
function hasSeparator(segment: string): boolean {
  for (const character of segment) {
    if (character < ' ' || character === '\u007f' || '/\\?#'.includes(character)) return true
  }
  return false
}
