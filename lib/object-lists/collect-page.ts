import type { ListPage, PageRequest } from '../dialects/object-list.ts'
import type { OwnRow } from './own-rows.ts'

/** An object as its provider shows it; undefined where the provider has it no more. */
export type FetchObject = (row: OwnRow) => Promise<Buffer | undefined>

/** Objects that are fetched at once for one page. */
const atOnce = 16
/** A page ends early when it has something and so much was asked for in vain. */
const fetchedInVainMax = 500
const pageBytesMax = 8 * 1_048_576

/** Fetches objects until the page is full, and one more, which says whether another page follows. */
export async function collectPage(
  rows: AsyncIterator<OwnRow>,
  page: PageRequest,
  fetchObject: FetchObject,
): Promise<ListPage> {
  const objects: { readonly id: string; readonly bytes: Buffer }[] = []
  const wanted = page.ids === undefined ? page.limit + 1 : Infinity
  let bytesCount = 0
  let fetchedCount = 0
  let isCut = false
  const skipped = await take(rows, page.skip ?? 0)
  while (objects.length < wanted && !isCut) {
    const group = await take(rows, Math.min(atOnce, wanted - objects.length))
    if (group.length === 0) break
    const fetched = await Promise.all(group.map(fetchObject))
    fetchedCount += group.length
    for (const [index, bytes] of fetched.entries()) {
      const row = group[index] as OwnRow
      if (bytes === undefined || page.filter?.(JSON.parse(bytes.toString())) === false) continue
      objects.push({ id: row.object.id, bytes })
      bytesCount += bytes.length
    }
    isCut =
      objects.length > 0 && (fetchedCount - objects.length > fetchedInVainMax || bytesCount > pageBytesMax)
  }
  const hasMore = isCut || objects.length === wanted
  const shown = objects.slice(0, page.limit)
  return {
    objects: page.cursor?.side === 'before' ? shown.toReversed() : shown,
    skipped: skipped.length,
    hasMore,
  }
}

async function take(rows: AsyncIterator<OwnRow>, count: number): Promise<readonly OwnRow[]> {
  const group: OwnRow[] = []
  while (group.length < count) {
    const next = await rows.next()
    if (next.done === true) break
    group.push(next.value)
  }
  return group
}
