import { GatewayError } from '../pipeline/errors.ts'
import type { ObjectKind } from '../money/usage.ts'
import type { Operation, RouteMatch } from './dialect.ts'
import { freeOperation, unsupportedOperation } from './operation-kinds.ts'

/**
 * One route: `POST /responses/{id}/cancel`. `{id}`, or any other name in braces, matches one segment, `{rest}` all that
 * follow, and `{id}:download` a segment with that ending.
 */
export interface RouteRow {
  readonly methods: readonly string[]
  readonly path: string
  readonly operation: Operation
  /** The kind of the object that `{id}` names, if it names one of the provider. */
  readonly object?: ObjectKind
  /** The object's id consists of the segments from this one to the `{id}`: `files/abc`, as Google names objects. */
  readonly idFrom?: string
  /** The object's id is in the query, under this name; requests without it belong to another route. */
  readonly idParameter?: string
  /** The `{id}` or `{rest}` is a model's name. */
  readonly isModel?: boolean
  /** The path is below the provider's origin, not below the base URL. */
  readonly isAtOrigin?: boolean
}

/**
 * A route for these methods: `route('POST PUT', '/files', fileUpload)`.
 * @param more the other members of the row
 */
export function route(
  methods: string,
  path: string,
  operation: Operation,
  more?: Omit<RouteRow, 'methods' | 'path' | 'operation'>,
): RouteRow {
  return { methods: methods.split(' '), path, operation, ...more }
}

/** A path that is refused with a reason, and all paths below it. */
export function unsupportedRows([name, reason]: readonly [
  name: string,
  reason: string,
]): readonly RouteRow[] {
  const operation = unsupportedOperation(name, reason)
  return [`/${name}`, `/${name}/{rest}`].map(path => route('GET POST PUT PATCH DELETE HEAD', path, operation))
}

const models = freeOperation('models', { isModelList: true })

/** The list of models, and each single model. */
export const modelRows: readonly RouteRow[] = [
  route('GET', '/models', models),
  route('GET', '/models/{rest}', models, { isModel: true }),
]

interface CompiledRow extends RouteRow {
  readonly segments: readonly string[]
  /** The position of `{id}` or `{rest}`; -1 if there is neither. */
  readonly nameIndex: number
}

/** The routes of a dialect, matched on the path alone: clients add queries such as `?beta=true`. */
export class RouteTable {
  readonly rows: readonly RouteRow[]
  readonly #compiled: readonly CompiledRow[]
  /** Rows by paths without parameters, which most requests have. */
  readonly #byPath: ReadonlyMap<string, readonly CompiledRow[]>

  constructor(rows: readonly RouteRow[]) {
    this.rows = rows
    this.#compiled = rows.map(compile)
    const fixed = rows.map(({ path }) => path).filter(path => !path.includes('{'))
    this.#byPath = new Map(fixed.map(path => [path, this.#rowsAt(path)]))
  }

  /** @throws GatewayError route_not_found, method_not_allowed, request_invalid */
  match(method: string, pathAndQuery: string): RouteMatch {
    const path = pathOf(pathAndQuery)
    const allowed = new Set<string>()
    for (const row of this.#byPath.get(path) ?? this.#rowsAt(path)) {
      if (row.idParameter !== undefined && !hasParameter(pathAndQuery, row.idParameter)) continue
      if (row.methods.includes(method)) return found(row, path, pathAndQuery)
      for (const other of row.methods) allowed.add(other)
    }
    if (allowed.size > 0) throw methodNotAllowed(method, path, [...allowed])
    throw routeNotFound(path)
  }

  #rowsAt(path: string): readonly CompiledRow[] {
    const segments = path.slice(1).split('/')
    return this.#compiled.filter(row => fits(row.segments, segments))
  }
}

function compile(row: RouteRow): CompiledRow {
  const segments = row.path.slice(1).split('/')
  const nameIndex = segments.findIndex(part => part.startsWith('{id}') || part.startsWith('{rest}'))
  return { ...row, segments, nameIndex }
}

/** The path without its query. */
export function pathOf(pathAndQuery: string): string {
  const query = pathAndQuery.indexOf('?')
  return query === -1 ? pathAndQuery : pathAndQuery.slice(0, query)
}

/**
 * A path segment as the provider decodes it.
 * @throws GatewayError request_invalid
 */
export function decodeSegment(segment: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch (cause) {
    throw new GatewayError('request_invalid', 'The path is not valid percent-encoded UTF-8.', { cause })
  }
  if (decoded === '' || decoded === '.' || decoded === '..' || hasSeparator(decoded))
    throw new GatewayError('request_invalid', 'The path has a segment that servers may read differently.')
  return decoded
}

/** The error for a path that the dialect does not have. */
function routeNotFound(path: string): GatewayError {
  return new GatewayError('route_not_found', `There is no route ${path} here.`)
}

/** The error for a wrong method, with the allowed ones. */
function methodNotAllowed(method: string, path: string, allowed: readonly string[]): GatewayError {
  const allow = allowed.join(', ')
  return new GatewayError('method_not_allowed', `${method} is not allowed on ${path}; use ${allow}.`, {
    details: { allow },
  })
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  const takesRest = pattern.at(-1)?.startsWith('{rest}') === true
  if (takesRest ? segments.length < pattern.length : segments.length !== pattern.length) return false
  return pattern.every((part, index) => {
    if (!part.startsWith('{')) return part === segments[index]
    const segment = part.startsWith('{rest}') ? segments.at(-1) : segments[index]
    const ending = endingOf(part)
    const isEmpty = segment === ending && segments.length === pattern.length
    return segment?.endsWith(ending) === true && !isEmpty
  })
}

/** The text after the braces. */
function endingOf(part: string): string {
  return part.slice(part.indexOf('}') + 1)
}

function found(row: CompiledRow, path: string, upstreamPath: string): RouteMatch {
  const { operation, object, nameIndex: index } = row
  const place = row.isAtOrigin === true && { isAtOrigin: true }
  if (object !== undefined && row.idParameter !== undefined) {
    const id = onlyParameter(upstreamPath, row.idParameter)
    return { operation, upstreamPath, ...place, object: { kind: object, id } }
  }
  if (index === -1) return { operation, upstreamPath, ...place }
  const segments = path.slice(1).split('/')
  const part = row.segments[index] ?? ''
  // Names of models may contain slashes.
  const raw = part.startsWith('{rest}') ? segments.slice(index) : segments.slice(index, index + 1)
  const written = raw.join('/')
  const name = written.slice(0, written.length - endingOf(part).length)
  const id = name.split('/').map(decodeSegment).join('/')
  if (object !== undefined) {
    const from = row.idFrom === undefined ? index : row.segments.indexOf(row.idFrom)
    const before = segments.slice(from, index).map(decodeSegment)
    return { operation, upstreamPath, ...place, object: { kind: object, id: [...before, id].join('/') } }
  }
  if (row.isModel !== true) return { operation, upstreamPath, ...place }
  let start = 1
  for (const segment of segments.slice(0, index)) start += segment.length + 1
  return { operation, upstreamPath, pathModel: id, pathModelSpan: { start, end: start + name.length } }
}

/** The values of a parameter in any spelling that a server might accept for it. */
function parameters(pathAndQuery: string, name: string): readonly string[] {
  const query = pathAndQuery.indexOf('?')
  if (query === -1) return []
  const found: string[] = []
  for (const [key, value] of new URLSearchParams(pathAndQuery.slice(query + 1))) {
    if (plain(key) === plain(name)) found.push(value)
  }
  return found
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[_$]/g, '')
}

function hasParameter(pathAndQuery: string, name: string): boolean {
  return parameters(pathAndQuery, name).length > 0
}

/** @throws GatewayError request_invalid when it occurs twice */
function onlyParameter(pathAndQuery: string, name: string): string {
  const values = parameters(pathAndQuery, name)
  if (values.length === 1) return String(values[0])
  throw new GatewayError('request_invalid', `The query names ${name} twice; send it once.`, { param: name })
}

/** Characters that servers read as a separator after decoding, and control characters. */
function hasSeparator(segment: string): boolean {
  for (const character of segment) {
    if (character < ' ' || character === '\u007f' || '/\\?#'.includes(character)) return true
  }
  return false
}
