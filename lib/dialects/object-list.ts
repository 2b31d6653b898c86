import { GatewayError } from '../pipeline/errors.ts'
import type { ObjectKind } from '../money/usage.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './operation-kinds.ts'

/** A requested page of a list. */
export interface PageRequest {
  /** Objects on a page; at least one. */
  readonly limit: number
  /** How many of the account's objects are on the pages before, for pages requested by number. */
  readonly skip?: number
  readonly order: 'newest-first' | 'oldest-first'
  /** The object after which the page begins, or before which it ends. */
  readonly cursor?: { readonly id: string; readonly side: 'after' | 'before' }
  /** Only these objects, instead of a page. */
  readonly ids?: readonly string[]
  /** Whether an object, as its provider shows it, belongs in the list. */
  readonly filter?: (object: Readonly<Record<string, unknown>>) => boolean
}

export interface ListPage {
  readonly objects: readonly {
    readonly id: string
    /** The object as its provider sent it: a JSON object. */
    readonly bytes: Buffer
  }[]
  /** How many objects are on the pages before, for pages requested by number. */
  readonly skipped: number
  /** More objects follow, or precede the page if it was requested by the object after it. */
  readonly hasMore: boolean
}

/** How a dialect lists the objects of a kind, and where its provider shows each one. */
export interface ObjectList {
  readonly kind: ObjectKind
  /** The operation whose usage reader reads an object: the account becomes the owner of other objects that it names. */
  readonly retrieval: Operation
  /** The object's path below the base URL. */
  path(id: string): string
  /** How long a provider stores such an object, if known. */
  readonly keptMsMax?: number
  /** @throws GatewayError request_invalid */
  readPage(query: URLSearchParams): PageRequest
  /** The body of the response, without copying the objects. */
  writePage(page: ListPage): readonly Buffer[]
}

/** A larger page takes too long to assemble: each object is fetched separately. */
const pageMax = 100

/** An operation that lists an account's own objects. */
export function listOperation(name: string, list: ObjectList): Operation {
  return { ...freeOperation(name), list }
}

/**
 * The value of a query parameter by any of its names; undefined if it is absent or empty.
 * @throws GatewayError request_invalid when it occurs twice
 */
export function readParameter(query: URLSearchParams, ...names: readonly string[]): string | undefined {
  const values = names.flatMap(name => query.getAll(name))
  if (values.length > 1) throw invalid(String(names[0]), 'occurs twice; send it once')
  return values[0] === '' ? undefined : values[0]
}

/**
 * The number of objects on a page: as many as requested, or fewer.
 * @throws GatewayError request_invalid
 */
function readLimit(query: URLSearchParams, names: readonly string[], { usual, max }: Limit): number {
  const text = readParameter(query, ...names)
  const limit = text === undefined ? usual : Number(text)
  if (!/^\d+$/.test(text ?? '1') || limit > max)
    throw invalid(String(names[0]), `must be a number from 1 to ${max}, not ${JSON.stringify(text)}`)
  // Google and OpenAI read 0 as the default.
  return Math.min(limit === 0 ? usual : limit, pageMax)
}

/** The error for an invalid query parameter. */
export function invalid(param: string, what: string): GatewayError {
  return new GatewayError('request_invalid', `The query parameter ${param} ${what}.`, { param })
}

const comma = Buffer.from(',')

/** The objects separated by commas, between the text before and after them. */
export function joinObjects(before: string, objects: ListPage['objects'], after: string): readonly Buffer[] {
  const parts = objects.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]))
  return [Buffer.from(before), ...parts, Buffer.from(after)]
}

/** What a list of any dialect contains. */
type Listed = Pick<ObjectList, 'kind' | 'retrieval' | 'path' | 'keptMsMax'>

interface Limit {
  readonly usual: number
  readonly max: number
}

/**
 * The object after which a page begins, or before which it ends, by the parameters that name either.
 * @throws GatewayError request_invalid if both are present
 */
function readCursor(
  query: URLSearchParams,
  after: readonly string[],
  before: string,
): Pick<PageRequest, 'cursor'> {
  const first = readParameter(query, ...after)
  const last = readParameter(query, before)
  if (first !== undefined && last !== undefined) throw invalid(before, `and ${after[0]} exclude each other`)
  if (first !== undefined) return { cursor: { id: first, side: 'after' } }
  return last === undefined ? {} : { cursor: { id: last, side: 'before' } }
}

/** The first and the last object of a page, as JSON. */
function endsOf({ objects }: ListPage): { readonly first: string; readonly last: string } {
  return { first: JSON.stringify(objects[0]?.id ?? null), last: JSON.stringify(objects.at(-1)?.id ?? null) }
}

/**
 * A list in OpenAI's format: `limit`, `order`, `after` and `before`, and pages that name their first and last object.
 * @param filteredBy the query parameter that an object's member of the same name must equal
 */
export function openaiList(
  name: string,
  { limit, filteredBy, ...list }: Listed & { readonly limit: Limit; readonly filteredBy?: string },
): Operation {
  return listOperation(name, {
    ...list,
    readPage: query => readOpenaiPage(query, limit, filteredBy),
    writePage(page) {
      const { first, last } = endsOf(page)
      const end = `],"first_id":${first},"last_id":${last},"has_more":${page.hasMore}}`
      return joinObjects('{"object":"list","data":[', page.objects, end)
    },
  })
}

function readOpenaiPage(query: URLSearchParams, limit: Limit, filteredBy: string | undefined): PageRequest {
  const cursor = readCursor(query, ['after'], 'before')
  const order = readParameter(query, 'order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw invalid('order', 'must be asc or desc')
  const wanted = filteredBy === undefined ? undefined : readParameter(query, filteredBy)
  const isNumbered = query.has('page') || query.has('page_size')
  const numbered = isNumbered ? readNumberedPage(query) : undefined
  // Which objects of earlier pages pass the filter is known only by fetching them.
  if (wanted !== undefined && (numbered?.skip ?? 0) > 0)
    throw invalid('page', `and ${String(filteredBy)} exclude each other here`)
  return {
    ...(numbered ?? { limit: readLimit(query, ['limit'], limit) }),
    order: order === 'asc' ? 'oldest-first' : 'newest-first',
    ...cursor,
    ...(wanted !== undefined && { filter: object => object[String(filteredBy)] === wanted }),
  }
}

/**
 * Mistral's pages are requested by number.
 * @throws GatewayError request_invalid
 */
export function readNumberedPage(query: URLSearchParams): { readonly limit: number; readonly skip: number } {
  const limit = readLimit(query, ['page_size'], { usual: 100, max: 1000 })
  const page = Number(readParameter(query, 'page') ?? '0')
  if (!Number.isSafeInteger(page) || page < 0 || page > 10_000) throw invalid('page', 'is not a page number')
  return { limit, skip: page * limit }
}

/** https://platform.claude.com/docs/en/api/files-list: the most ids in one request. */
const idsMax = 100

/**
 * A list in Anthropic's format, newest first. Its SDKs continue by `after_id` and `before_id` in lists of batches, and
 * by `page` in lists of files; a page here has both.
 */
export function anthropicList(name: string, list: Listed): Operation {
  return listOperation(name, {
    ...list,
    readPage: readAnthropicPage,
    writePage(page) {
      const { first, last } = endsOf(page)
      const next = page.hasMore ? last : 'null'
      const end = `],"has_more":${page.hasMore},"first_id":${first},"last_id":${last},"next_page":${next}}`
      return joinObjects('{"data":[', page.objects, end)
    },
  })
}

function readAnthropicPage(query: URLSearchParams): PageRequest {
  const cursor = readCursor(query, ['after_id', 'page'], 'before_id')
  const scope = readParameter(query, 'scope_id')
  const ids = [...new Set([...query.getAll('ids'), ...query.getAll('ids[]')])]
  if (ids.length > idsMax) throw invalid('ids', `names ${ids.length} files; at most ${idsMax} are possible`)
  return {
    limit: readLimit(query, ['limit'], { usual: 20, max: 1000 }),
    order: 'newest-first',
    ...cursor,
    ...(ids.length > 0 && { ids }),
    ...(scope !== undefined && { filter: object => isOfScope(object, scope) }),
  }
}

function isOfScope({ scope }: Readonly<Record<string, unknown>>, id: string): boolean {
  return typeof scope === 'object' && scope !== null && (scope as { readonly id?: unknown }).id === id
}

/**
 * A list in Google's format: `pageSize` and `pageToken`, and pages with the token of the next one.
 * @param member the member for a page's objects: `files`
 */
export function googleList(
  name: string,
  { member, limit, ...list }: Listed & { readonly member: string; readonly limit: Limit },
): Operation {
  return listOperation(name, {
    ...list,
    readPage: query => readGooglePage(query, limit),
    writePage({ objects, hasMore }) {
      const last = objects.at(-1)
      // An empty list has no members at all, as at Google.
      if (last === undefined) return [Buffer.from('{}')]
      // A token encodes the name of the last object on its page.
      const token = Buffer.from(last.id).toString('base64url')
      return joinObjects(`{"${member}":[`, objects, hasMore ? `],"nextPageToken":"${token}"}` : ']}')
    },
  })
}

function readGooglePage(query: URLSearchParams, limit: Limit): PageRequest {
  const token = readParameter(query, 'pageToken', 'page_token')
  if (readParameter(query, 'filter') !== undefined) throw invalid('filter', 'is not supported in this list')
  const last = token === undefined ? undefined : Buffer.from(token, 'base64url').toString()
  return {
    // Google reduces larger sizes to the maximum.
    limit: Math.min(limit.max, readLimit(query, ['pageSize', 'page_size'], { ...limit, max: Infinity })),
    order: 'newest-first',
    ...(last !== undefined && { cursor: { id: last, side: 'after' } }),
  }
}
