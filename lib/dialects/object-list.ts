import { GatewayError } from '../pipeline/errors.ts'
import type { ObjectKind } from '../money/usage.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './operation-kinds.ts'

/** A page of a list, as it was asked for. */
export interface PageRequest {
  /** Objects on a page; one at least. */
  readonly limit: number
  /** How many of the account's objects stand on the pages before, where pages are asked for by their number. */
  readonly skip?: number
  readonly order: 'newest-first' | 'oldest-first'
  /** The object behind which the page begins, or before which it ends. */
  readonly cursor?: { readonly id: string; readonly side: 'after' | 'before' }
  /** Only these objects, in place of a page. */
  readonly ids?: readonly string[]
  /** Whether an object, as its provider shows it, is in the list. */
  readonly filter?: (object: Readonly<Record<string, unknown>>) => boolean
}

export interface ListPage {
  readonly objects: readonly {
    readonly id: string
    /** As its provider sent it: a JSON object. */
    readonly bytes: Buffer
  }[]
  /** How many stand on the pages before, where pages are asked for by their number. */
  readonly skipped: number
  /** More objects follow, or come before where the page was asked for by what is behind it. */
  readonly hasMore: boolean
}

/** How a dialect lists the objects of a kind, and where its provider shows each. */
export interface ObjectList {
  readonly kind: ObjectKind
  /** Whose reader reads an object: what it names beside itself becomes the account's. */
  readonly retrieval: Operation
  /** Where the object is, below the base URL. */
  path(id: string): string
  /** For how long a provider keeps such an object, where that is known. */
  readonly keptMsMax?: number
  /** @throws GatewayError request_invalid */
  readPage(query: URLSearchParams): PageRequest
  /** The body of the response, without copying the objects. */
  writePage(page: ListPage): readonly Buffer[]
}

/** Beyond this a page takes too long to put together: each object is fetched by itself. */
const pageMax = 100

/** An operation that lists an account's own objects. */
export function listOperation(name: string, list: ObjectList): Operation {
  return { ...freeOperation(name), list }
}

/**
 * The value of a query parameter by any of its names; undefined where it is absent or empty.
 * @throws GatewayError request_invalid when it is there twice
 */
export function readParameter(query: URLSearchParams, ...names: readonly string[]): string | undefined {
  const values = names.flatMap(name => query.getAll(name))
  if (values.length > 1) throw invalid(String(names[0]), 'is there twice; send it once')
  return values[0] === '' ? undefined : values[0]
}

/**
 * How many objects are on a page: as many as was asked for, or fewer.
 * @throws GatewayError request_invalid
 */
function readLimit(query: URLSearchParams, names: readonly string[], { usual, max }: Limit): number {
  const text = readParameter(query, ...names)
  const limit = text === undefined ? usual : Number(text)
  if (!/^\d+$/.test(text ?? '1') || limit > max)
    throw invalid(String(names[0]), `is to be a number from 1 to ${max}, not ${JSON.stringify(text)}`)
  // Google and OpenAI take 0 for what is usual.
  return Math.min(limit === 0 ? usual : limit, pageMax)
}

/** The refusal of a query parameter. */
export function invalid(param: string, what: string): GatewayError {
  return new GatewayError('request_invalid', `The query parameter ${param} ${what}.`, { param })
}

const comma = Buffer.from(',')

/** The objects with commas between them, between what comes before and after. */
export function joinObjects(before: string, objects: ListPage['objects'], after: string): readonly Buffer[] {
  const parts = objects.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]))
  return [Buffer.from(before), ...parts, Buffer.from(after)]
}

/** What a list of any dialect is of. */
type Listed = Pick<ObjectList, 'kind' | 'retrieval' | 'path' | 'keptMsMax'>

interface Limit {
  readonly usual: number
  readonly max: number
}

/**
 * The object behind which a page begins, or before which it ends, by the parameters that name either.
 * @throws GatewayError request_invalid where both do
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
 * A list of OpenAI's: `limit`, `order`, `after` and `before`, and pages that name their first and last object.
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
  if (order !== 'asc' && order !== 'desc') throw invalid('order', 'is to be asc or desc')
  const wanted = filteredBy === undefined ? undefined : readParameter(query, filteredBy)
  const isNumbered = query.has('page') || query.has('page_size')
  const numbered = isNumbered ? readNumberedPage(query) : undefined
  // How many of those on the pages before are in the list nobody knows without asking for them.
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
 * Mistral's pages go by their number.
 * @throws GatewayError request_invalid
 */
export function readNumberedPage(query: URLSearchParams): { readonly limit: number; readonly skip: number } {
  const limit = readLimit(query, ['page_size'], { usual: 100, max: 1000 })
  const page = Number(readParameter(query, 'page') ?? '0')
  if (!Number.isSafeInteger(page) || page < 0 || page > 10_000)
    throw invalid('page', 'is no number of a page')
  return { limit, skip: page * limit }
}

/** https://platform.claude.com/docs/en/api/files-list: no more ids than this in one request. */
const idsMax = 100

/**
 * A list of Anthropic's, newest first. Its SDKs go on by `after_id` and `before_id` in lists of batches, by `page`
 * in those of files; a page here says both.
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
  if (ids.length > idsMax)
    throw invalid('ids', `names ${ids.length} files, and at most ${idsMax} are possible`)
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
 * A list of Google's: `pageSize` and `pageToken`, and pages that tell the token of the next one.
 * @param member that holds a page's objects: `files`
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
      // An empty list has no members at all, as with Google.
      if (last === undefined) return [Buffer.from('{}')]
      // A token is the name of the last object on its page.
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
    // Google takes more than the most for the most.
    limit: Math.min(limit.max, readLimit(query, ['pageSize', 'page_size'], { ...limit, max: Infinity })),
    order: 'newest-first',
    ...(last !== undefined && { cursor: { id: last, side: 'after' } }),
  }
}
