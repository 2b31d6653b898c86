import type { Operation } from '../dialect.ts'
import { invalid, joinObjects, listOperation, readLimit, readParameter } from '../object-list.ts'
import type { ListPage, ObjectList, PageRequest } from '../object-list.ts'

interface GoogleList extends Pick<ObjectList, 'kind' | 'retrieval' | 'path' | 'keptMsMax'> {
  /** The member that holds a page's objects: `files`. */
  readonly member: string
  readonly limit: { readonly usual: number; readonly max: number }
}

/** A list of Google's: `pageSize` and `pageToken`, and pages that tell the token of the next one. */
export function googleList(name: string, { member, limit, ...list }: GoogleList): Operation {
  return listOperation(name, {
    ...list,
    readPage: query => readPage(query, limit),
    writePage: page => writePage(member, page),
  })
}

function readPage(query: URLSearchParams, limit: GoogleList['limit']): PageRequest {
  const token = readParameter(query, 'pageToken', 'page_token')
  if (readParameter(query, 'filter') !== undefined) throw invalid('filter', 'is not supported in this list')
  return {
    // Google takes more than the most for the most.
    limit: Math.min(limit.max, readLimit(query, ['pageSize', 'page_size'], { ...limit, max: Infinity })),
    order: 'newest-first',
    ...(token !== undefined && { cursor: { id: nameIn(token), side: 'after' } }),
  }
}

/** A token is the name of the last object on its page. */
function nameIn(token: string): string {
  return Buffer.from(token, 'base64url').toString()
}

function writePage(member: string, { objects, hasMore }: ListPage): readonly Buffer[] {
  const last = objects.at(-1)
  // An empty list has no members at all, as with Google.
  if (last === undefined) return [Buffer.from('{}')]
  const token = Buffer.from(last.id).toString('base64url')
  return joinObjects(`{"${member}":[`, objects, hasMore ? `],"nextPageToken":"${token}"}` : ']}')
}
