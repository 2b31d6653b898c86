import type { Operation } from '../dialect.ts'
import { invalid, joinObjects, listOperation, readLimit, readParameter } from '../object-list.ts'
import type { ListPage, ObjectList, PageRequest } from '../object-list.ts'

interface OpenaiList extends Pick<ObjectList, 'kind' | 'retrieval' | 'path' | 'keptMsMax'> {
  readonly limit: { readonly usual: number; readonly max: number }
  /** The query parameter that an object's member of the same name must equal. */
  readonly filteredBy?: string
}

/** A list of OpenAI's: `limit`, `order`, `after` and `before`, and pages that name their first and last object. */
export function openaiList(name: string, { limit, filteredBy, ...list }: OpenaiList): Operation {
  return listOperation(name, {
    ...list,
    readPage: query => readPage(query, limit, filteredBy),
    writePage,
  })
}

function readPage(
  query: URLSearchParams,
  limit: OpenaiList['limit'],
  filteredBy: string | undefined,
): PageRequest {
  const after = readParameter(query, 'after')
  const before = readParameter(query, 'before')
  if (after !== undefined && before !== undefined) throw invalid('before', 'and after exclude each other')
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
    ...(after !== undefined && { cursor: { id: after, side: 'after' } }),
    ...(before !== undefined && { cursor: { id: before, side: 'before' } }),
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

function writePage({ objects, hasMore }: ListPage): readonly Buffer[] {
  const first = JSON.stringify(objects[0]?.id ?? null)
  const last = JSON.stringify(objects.at(-1)?.id ?? null)
  return joinObjects(
    '{"object":"list","data":[',
    objects,
    `],"first_id":${first},"last_id":${last},"has_more":${hasMore}}`,
  )
}
