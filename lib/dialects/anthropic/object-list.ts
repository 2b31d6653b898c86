import type { Operation } from '../dialect.ts'
import { invalid, joinObjects, listOperation, readLimit, readParameter } from '../object-list.ts'
import type { ListPage, ObjectList, PageRequest } from '../object-list.ts'

/** https://platform.claude.com/docs/en/api/files-list: no more ids than this in one request. */
const idsMax = 100

/**
 * A list of Anthropic's, newest first. Its SDKs go on by `after_id` and `before_id` in lists of batches, by `page`
 * in those of files; a page here says both.
 */
export function anthropicList(
  name: string,
  list: Pick<ObjectList, 'kind' | 'retrieval' | 'path' | 'keptMsMax'>,
): Operation {
  return listOperation(name, { ...list, readPage, writePage })
}

function readPage(query: URLSearchParams): PageRequest {
  const after = readParameter(query, 'after_id', 'page')
  const before = readParameter(query, 'before_id')
  if (after !== undefined && before !== undefined)
    throw invalid('before_id', 'and after_id exclude each other')
  const scope = readParameter(query, 'scope_id')
  const ids = [...new Set([...query.getAll('ids'), ...query.getAll('ids[]')])]
  if (ids.length > idsMax)
    throw invalid('ids', `names ${ids.length} files, and at most ${idsMax} are possible`)
  return {
    limit: readLimit(query, ['limit'], { usual: 20, max: 1000 }),
    order: 'newest-first',
    ...(after !== undefined && { cursor: { id: after, side: 'after' } }),
    ...(before !== undefined && { cursor: { id: before, side: 'before' } }),
    ...(ids.length > 0 && { ids }),
    ...(scope !== undefined && { filter: object => isOfScope(object, scope) }),
  }
}

function isOfScope({ scope }: Readonly<Record<string, unknown>>, id: string): boolean {
  return typeof scope === 'object' && scope !== null && (scope as { readonly id?: unknown }).id === id
}

function writePage({ objects, hasMore }: ListPage): readonly Buffer[] {
  const first = JSON.stringify(objects[0]?.id ?? null)
  const last = JSON.stringify(objects.at(-1)?.id ?? null)
  const next = hasMore ? last : 'null'
  return joinObjects(
    '{"data":[',
    objects,
    `],"has_more":${hasMore},"first_id":${first},"last_id":${last},"next_page":${next}}`,
  )
}
