import type { ObjectList, ListPage, PageRequest } from '../dialects/object-list.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { ownObject } from '../models/object-owner.ts'
import type { Exchange, LocalAnswer } from '../pipeline/exchange.ts'
import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../platform/clock.ts'
import { Upstreams } from '../upstream/upstreams.ts'
import type { UpstreamsContext } from '../upstream/upstreams.ts'
import { fetchObject } from './fetch-object.ts'
import { ownRows } from './own-rows.ts'
import type { OwnRow } from './own-rows.ts'

/** A page takes a second or two; what takes much longer is a provider that does not respond. */
const pageMs = 60_000

interface ListsContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly clock: Clock
}

/** An object as its provider shows it; undefined where the provider has it no more. */
type FetchObject = (row: OwnRow) => Promise<Buffer | undefined>

/** Objects that are fetched at once for one page. */
const atOnce = 16
/** A page ends early when it has something and so much was asked for in vain. */
const fetchedInVainMax = 500
const pageBytesMax = 8 * 1_048_576

/** Fetches objects until the page is full, and one more, which says whether another page follows. */
async function collectPage(
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

/**
 * Lists of the objects that accounts have at providers. What is in a list is known here, and how each object stands
 * its provider is asked for: the bytes of a page are the gateway's around the provider's own.
 */
export class ObjectLists {
  readonly #context: ListsContext
  readonly #upstreams: Upstreams

  constructor(context: ListsContext) {
    this.#context = context
    this.#upstreams = Upstreams.shared(context.config, context)
  }

  /**
   * A page of an account's own objects.
   * @throws GatewayError request_invalid, object_not_found for a cursor that is not the account's own,
   * upstream_unreachable when one of the objects could not be fetched
   */
  async answer(exchange: Exchange, list: ObjectList): Promise<LocalAnswer> {
    const route = exchange.get('route')
    const query = new URLSearchParams(/\?(.*)$/s.exec(route.match.upstreamPath)?.[1] ?? '')
    const page = list.readPage(query)
    const accountId = exchange.find('key')?.accountId
    const { config, ledger, clock } = this.#context
    const places = { dialectName: route.dialect.name, providerName: route.providerName }
    const cursor =
      page.cursor &&
      (await ownObject({ config, ledger }, accountId, places, { kind: list.kind, id: page.cursor.id }))
    const rows = ownRows({ config, ledger, clock }, { accountId, list, page, cursor, ...places })
    const left = new AbortController()
    const onClose = (): void => left.abort()
    exchange.response.once('close', onClose)
    const timeout = AbortSignal.timeout(pageMs)
    const signal = AbortSignal.any([left.signal, timeout])
    try {
      const context = { ...this.#context, upstreams: this.#upstreams, exchange, list, signal }
      const collected = await collectPage(rows, page, row => fetchObject(context, row))
      const body = Buffer.concat(list.writePage(collected))
      return { status: 200, headers: ['content-type', 'application/json'], body }
    } catch (cause) {
      if (!timeout.aborted) throw cause
      throw new GatewayError(
        'upstream_timeout',
        `Some of the ${list.kind} objects could not be fetched in time.`,
        { cause },
      )
    } finally {
      exchange.response.removeListener('close', onClose)
    }
  }

  close(): void {
    this.#upstreams.close()
  }
}
