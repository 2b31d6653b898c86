import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { answerAddresses } from '../dialects/answer-addresses.ts'
import type { AnswerHead, RequestFacts } from '../dialects/dialect.ts'
import type { ObjectList } from '../dialects/object-list.ts'
import { AddressRewriter } from '../dialects/rewrite-addresses.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from '../routes/route.ts'
import { createDecoder } from '../http/decode.ts'
import type { ObjectLedger } from '../ledger/object-ledger.ts'
import { objectName } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { askProvider } from '../upstream/ask-provider.ts'
import { ownAddress } from '../upstream/own-addresses.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { OwnRow } from './own-rows.ts'

interface FetchContext {
  readonly config: Config
  readonly ledger: ObjectLedger
  readonly clock: Clock
  readonly upstreams: Upstreams
  readonly exchange: Exchange
  readonly list: ObjectList
  readonly signal: AbortSignal
}

/** Descriptions of objects are a kilobyte or two; that of a batch may list what is wrong with its requests. */
const objectBytesMax = 1_048_576
const decodeCaps = { outputBytesMax: objectBytesMax, ratioMax: 1000 }
/** What was made just now may not be everywhere yet. */
const newMs = 60 * 60_000

const noFacts: RequestFacts = { isStreaming: false, candidates: 1, textBytes: 0, media: [], objects: [] }

/**
 * An object as its provider shows it, with the provider's addresses made the gateway's. What else it names is the
 * account's when this resolves.
 * @returns undefined where its provider has it no more
 * @throws GatewayError upstream_unreachable
 */
export async function fetchObject(context: FetchContext, row: OwnRow): Promise<Buffer | undefined> {
  const { provider, kind, id, createdAt } = row.object
  const { head, body } = await ask(context, row)
  if (isGone(head.status, row)) {
    if (context.clock.now() - createdAt > newMs) await context.ledger.unlistObject({ provider, kind, id })
    return undefined
  }
  const text = body.toString('utf8').trim()
  if (head.status !== 200 || !text.startsWith('{') || !text.endsWith('}')) {
    throw unreachable(row, `answered ${head.status}`)
  }
  await recordNames(context, row, head, body)
  return ownAddresses(context, row, body)
}

/** Google says of what does not exist that one may not see it. */
function isGone(status: number, { chosen }: OwnRow): boolean {
  return status === 404 || status === 410 || (status === 403 && chosen.provider.kind === 'google')
}

async function ask(
  { upstreams, exchange, list, signal }: FetchContext,
  row: OwnRow,
): Promise<{ readonly head: AnswerHead; readonly body: Buffer }> {
  const chunks: Buffer[] = []
  let head: AnswerHead = { status: 0, contentType: '' }
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
    `The ${object.kind} "${object.id}" could not be listed: ${chosen.provider.name} ${what}. Ask again.`,
    cause === undefined ? {} : { cause },
  )
}

async function recordNames(
  { ledger, exchange, list }: FetchContext,
  { object, chosen }: OwnRow,
  head: AnswerHead,
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
