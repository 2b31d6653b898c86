import { providerLabel, type Config } from '../config/config.ts'
import type { ObjectList, ListPage, PageRequest } from '../dialects/object-list.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { ownObject } from '../models/object-owner.ts'
import type { Exchange, LocalResponse } from '../pipeline/exchange.ts'
import type { Ledger, ObjectLedger } from '../ledger/ledger.ts'
import type { Clock } from '../platform/clock.ts'
import { Upstreams, type UpstreamsContext } from '../upstream/upstreams.ts'
import { ownRows, type OwnRow } from './own-rows.ts'
import { answerAddresses, AddressRewriter } from '../dialects/rewrite-addresses.ts'
import type { HeadFacts, RequestFacts } from '../dialects/dialect.ts'
import type { Route } from '../routes/route.ts'
import { createDecoder } from '../http/decode.ts'
import { objectName } from '../money/usage.ts'
import { askProvider } from '../upstream/ask-provider.ts'
import { ownAddress } from '../upstream/upstream-headers.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** A page takes a second or two; a provider that takes much longer does not respond. */
const pageMs = 60_000

interface ListsContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly clock: Clock
}

/** Fetches an object as its provider shows it; undefined when the provider no longer has it. */
type FetchObject = (row: OwnRow) => Promise<Buffer | undefined>

/** Objects that are fetched at once for one page. */
const atOnce = 16
/** A page that has objects ends early after this many fetches without one. */
const fetchedInVainMax = 500
const pageBytesMax = 8 * 1_048_576

interface FetchContext {
  readonly config: Config
  readonly ledger: ObjectLedger
  readonly clock: Clock
  readonly upstreams: Upstreams
  readonly exchange: Exchange
  readonly list: ObjectList
  readonly signal: AbortSignal
}

/** Descriptions of objects are a kilobyte or two; that of a batch may list problems of its requests. */
const objectBytesMax = 1_048_576
const decodeCaps = { outputBytesMax: objectBytesMax, ratioMax: 1000 }
/** A new object may not be available everywhere yet. */
const newMs = 60 * 60_000

const noFacts: RequestFacts = { isStreaming: false, candidates: 1, textBytes: 0, media: [], objects: [] }

/**
 * An object as its provider shows it, with the provider's addresses replaced by the gateway's. The other objects that
 * it names are recorded as the account's when this resolves.
 * @returns undefined when its provider no longer has it
 * @throws GatewayError upstream_unreachable
 */
async function fetchObject(context: FetchContext, row: OwnRow): Promise<Buffer | undefined> {
  const { provider, kind, id, createdAt } = row.object
  const { head, body } = await ask(context, row)
  if (isGone(head.status, row)) {
    if (context.clock.now() - createdAt > newMs) await context.ledger.unlistObject({ provider, kind, id })
    return undefined
  }
  const text = body.toString('utf8').trim()
  if (head.status !== 200 || !text.startsWith('{') || !text.endsWith('}'))
    throw unreachable(row, `answered ${head.status}`)
  await recordNames(context, row, head, body)
  return ownAddresses(context, row, body)
}

function isGone(status: number, { chosen }: OwnRow): boolean {
  const isForbidden = status === 403 && knownProvider(chosen.provider.kind).forbidsWhatIsGone === true
  return status === 404 || status === 410 || isForbidden
}

async function ask(
  { upstreams, exchange, list, signal }: FetchContext,
  row: OwnRow,
): Promise<{ readonly head: HeadFacts; readonly body: Buffer }> {
  const chunks: Buffer[] = []
  let head: HeadFacts = { status: 0, contentType: '' }
  let decoder = createDecoder('', chunk => chunks.push(chunk), decodeCaps)
  const dialectName = exchange.get('route').dialect.name
  try {
    await askProvider(
      upstreams,
      { chosen: row.chosen, dialectName, path: list.path(row.object.id), signal },
      {
        onHead({ contentEncoding, ...told }) {
          head = told
          decoder = createDecoder(contentEncoding, chunk => chunks.push(chunk), decodeCaps)
          return told.status === 200 && decoder !== undefined
        },
        onData: chunk => decoder?.write(chunk),
      },
    )
    await decoder?.end()
  } catch (cause) {
    throw unreachable(row, 'could not be asked', cause)
  }
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  if (decoder?.isBroken !== false || bytes > objectBytesMax)
    throw unreachable(row, 'sent what cannot be read')
  return { head, body: Buffer.concat(chunks) }
}

function unreachable({ object, chosen }: OwnRow, what: string, cause?: unknown): GatewayError {
  return new GatewayError(
    'upstream_unreachable',
    `The ${object.kind} "${object.id}" could not be listed: ${providerLabel(chosen.provider)} ${what}. Ask again.`,
    cause === undefined ? {} : { cause },
  )
}

async function recordNames(
  { ledger, exchange, list }: FetchContext,
  { object, chosen }: OwnRow,
  head: HeadFacts,
  body: Buffer,
): Promise<void> {
  const { provider, kind, id, accountId, credential, facts } = object
  const reader = list.retrieval.readUsage?.(head, {
    providerKind: chosen.provider.kind,
    facts: noFacts,
    object: { kind, id, ...(facts !== undefined && { facts }) },
  })
  if (reader === undefined) return
  reader.push(body)
  const named = reader.takeObjects().filter(one => objectName(one) !== objectName(object))
  const made = {
    provider,
    accountId,
    credential,
    exchangeId: exchange.id,
    dialect: exchange.get('route').dialect.name,
  }
  await Promise.all(
    named.map(one =>
      ledger.recordObject({ ...made, kind: one.kind, id: one.id, ...(one.facts && { facts: one.facts }) }),
    ),
  )
}

function ownAddresses({ config, exchange }: FetchContext, { object, chosen }: OwnRow, body: Buffer): Buffer {
  const route: Route = exchange.get('route')
  const { kind, id } = object
  const addresses = answerAddresses(route.dialect.name, { ...route.match, object: { kind, id } })
  if (addresses === undefined) return body
  const rewriter = new AddressRewriter(addresses, address =>
    ownAddress(address, chosen.baseUrl, config.publicUrl, route),
  )
  return Buffer.concat([rewriter.push(body), rewriter.end()])
}

/** Fetches objects until the page is full, and one more, which shows whether another page follows. */
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
 * Lists of the objects that accounts have at providers. The gateway knows which objects are in a list, and asks their
 * provider for the state of each: a page is the gateway's JSON around the provider's own bytes.
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
  async answer(exchange: Exchange, list: ObjectList): Promise<LocalResponse> {
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
