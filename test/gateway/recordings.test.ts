import { isDeepStrictEqual } from 'node:util'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { chunked, headLines, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { checkRecordedCharge } from '../fixtures/check-recorded-charge.ts'
import {
  configFor,
  isAboutCredential,
  recordedExchanges,
  sha256,
  type RecordedExchange,
} from '../fixtures/recorded-exchange.ts'
import { send } from '../fixtures/http-client.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { loadRecordings, recordingsSkip } from '../lib/dialects/recordings.ts'

const everyExchange = recordingsSkip === false ? recordedExchanges(loadRecordings()) : []
const exchanges = everyExchange.filter(exchange => !isAboutCredential(exchange))
const notReplayed = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'content-encoding'])
const credential = 'provider-credential-canary'

/** Cuts bytes into pieces of the given sizes, the last repeated. */
function cut(bytes: Buffer, size: () => number): Buffer[] {
  const pieces: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const end = Math.min(bytes.length, start + size())
    pieces.push(bytes.subarray(start, end))
    start = end
  }
  return pieces
}

function answerFor(
  exchange: RecordedExchange,
  bytes: Buffer,
  encoding: string,
  { framing, sizeFor }: Cutting,
): RawAnswer {
  const size = sizeFor(exchange)
  const { response } = exchange.recording
  const headers = Object.entries(response.headers)
    .filter(([name]) => !notReplayed.has(name))
    .flat()
  if (encoding !== 'identity') headers.push('content-encoding', encoding)
  const isHead = exchange.recording.request?.method === 'HEAD'
  // Several pieces of a body with a length may arrive in one read; of a chunked body the parser emits each chunk.
  const isChunked =
    framing === 'chunked' || response.headers['transfer-encoding'] !== undefined || exchange.recording.stream
  if (isChunked && !isHead) {
    const head = headLines(response.status, [...headers, 'transfer-encoding', 'chunked'])
    return { pieces: join([head, ...chunked(cut(bytes, size))]) }
  }
  const head = headLines(response.status, [...headers, 'content-length', String(bytes.length)])
  return { pieces: isHead ? [head] : join([head, ...cut(bytes, size)]) }
}

/** The sizes of the pieces of a response, and its framing. */
interface Cutting {
  readonly sizeFor: (exchange: RecordedExchange) => () => number
  /** `chunked` for all responses; otherwise the recorded framing. */
  readonly framing?: 'chunked'
}

/** Joins tiny chunks into fewer writes; the parser still emits them one by one. */
function join(pieces: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = []
  for (let start = 0; start < pieces.length; start += 64)
    joined.push(Buffer.concat(pieces.slice(start, start + 64)))
  return joined
}

const encoders: Record<string, (bytes: Buffer) => Buffer> = {
  identity: bytes => bytes,
  gzip: bytes => gzipSync(bytes),
  br: bytes => brotliCompressSync(bytes),
  zstd: bytes => zstdCompressSync(bytes),
}

/** The recorded headers of the client, with the key of this test in place of any recorded one. */
function clientHeaders(exchange: RecordedExchange, key: string): string[] {
  const recorded = Object.entries(exchange.recording.request?.headers ?? {}).filter(
    ([name]) =>
      !notReplayed.has(name) && !/^(authorization|x-api-key|x-goog-api-key|api-key|cookie)$/.test(name),
  )
  const auth =
    exchange.dialect === 'anthropic'
      ? ['x-api-key', key]
      : exchange.dialect === 'google'
        ? ['x-goog-api-key', key]
        : ['authorization', `Bearer ${key}`]
  return [...recorded.flat(), ...auth, 'x-recording', String(exchange.index)]
}

/** Replays every recording. */
async function replay(
  t: Test,
  chosen: readonly RecordedExchange[],
  encoding: string,
  cutting: Cutting,
): Promise<void> {
  const byIndex = new Map(chosen.map(exchange => [String(exchange.index), exchange]))
  const upstream = await startRawUpstream(t, request => {
    const exchange = byIndex.get(request.headers[request.headers.indexOf('x-recording') + 1] ?? '')
    if (exchange === undefined) throw new Error('an unexpected request arrived')
    const bytes = encoders[encoding]!(exchange.answer)
    return answerFor(exchange, bytes, encoding, cutting)
  })
  const gateway = await startTestGateway(t, {
    config: configFor(chosen, upstream.origin, credential),
    rub: 1_000_000,
  })
  for (const exchange of chosen) {
    await t.test(exchange.recording.file, async t => {
      const sent = upstream.requests.length
      const { request } = exchange.recording
      const answer = await send(gateway.url + exchange.path, {
        method: request?.method ?? 'POST',
        headers: clientHeaders(exchange, gateway.key),
        ...(exchange.body.length > 0 && { body: exchange.body }),
      })
      t.equal(
        upstream.requests.length,
        sent + 1,
        `one request at the upstream: ${answer.body.toString().slice(0, 300)}`,
      )
      const seen = upstream.requests.at(-1)!
      t.equal(seen.path, exchange.upstreamPath, 'path at the upstream')
      checkRequestBytes(t, exchange, seen.body)
      checkRequestHeaders(t, exchange, seen.headers, gateway)
      t.equal(answer.status, exchange.recording.response.status, 'status')
      t.ok(answer.isWhole, 'the response ended properly')
      const isHead = request?.method === 'HEAD'
      if (!isHead)
        t.equal(sha256(answer.body), sha256(encoders[encoding]!(exchange.answer)), 'response bytes')
      t.equal(answer.headers['set-cookie'], undefined)
      t.equal(answer.headers['alt-svc'], undefined)
      await checkRecordedCharge(t, exchange, gateway, answer.requestId)
    })
  }
  t.same(await gateway.breaches(), [], 'the ledger is in order')
}

/** Checks that the bodies are equal, except for an `include_usage` that the gateway added. */
function checkRequestBytes(t: Test, exchange: RecordedExchange, seen: Buffer): void {
  if (seen.equals(exchange.body)) {
    t.pass('request bytes')
    return
  }
  const client = exchange.body.toString()
  const upstream = seen.toString()
  let prefix = 0
  while (prefix < client.length && client[prefix] === upstream[prefix]) prefix += 1
  let suffix = 0
  while (suffix < client.length - prefix && client.at(-1 - suffix) === upstream.at(-1 - suffix)) suffix += 1
  const removed = client.slice(prefix, client.length - suffix)
  const added = upstream.slice(prefix, upstream.length - suffix)
  t.match(added, /include_usage|true/, 'only bytes that request usage were added')
  t.match(removed, /^(|null|false|\{\s*\}|fals)$/, 'only the replaced value was removed')
  const { stream_options: streamOptions, ...rest } = JSON.parse(upstream) as Record<string, unknown>
  const { stream_options: before, ...original } = JSON.parse(client) as Record<string, unknown>
  t.same(streamOptions, { ...(before as object | undefined), include_usage: true })
  t.ok(isDeepStrictEqual(rest, original), 'the rest of the request')
}

function checkRequestHeaders(
  t: Test,
  exchange: RecordedExchange,
  headers: readonly string[],
  gateway: TestGateway,
): void {
  const all = headers.join('\n')
  t.notMatch(all, gateway.key, 'the key is not forwarded')
  t.match(all, credential, 'the credential is sent')
  const expected = Object.entries(exchange.recording.request?.headers ?? {}).filter(
    ([name]) =>
      name.startsWith('anthropic-') ||
      name.startsWith('x-stainless') ||
      name === 'user-agent' ||
      name === 'content-type',
  )
  for (const [name, value] of expected) t.equal(headers[headers.indexOf(name) + 1], value, name)
}

const seed = Date.now() % 2 ** 31
let state = seed

/** A repeatable stream of sizes: the seed is printed. */
function randomSize(max: number): () => number {
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return 1 + (state % max)
  }
}

const options = { skip: recordingsSkip, timeout: 300_000 }

t.test(
  'every recorded exchange passes unchanged and is charged, its response cut at random',
  options,
  async t => {
    t.comment(`seed ${seed}`)
    await replay(t, exchanges, 'identity', { sizeFor: () => randomSize(2000) })
  },
)

t.test(
  'every recorded exchange passes unchanged and is charged, its response one byte at a time, in chunks',
  options,
  async t => {
    // Two images of megabytes would take minutes, so they are cut into pieces of 61 bytes.
    await replay(t, exchanges, 'identity', {
      framing: 'chunked',
      sizeFor:
        ({ answer }) =>
        () =>
          answer.length > 300_000 ? 61 : 1,
    })
  },
)

for (const encoding of ['gzip', 'br', 'zstd']) {
  t.test(
    `every recorded exchange passes unchanged and is charged, its response in ${encoding}`,
    options,
    async t => {
      t.comment(`seed ${seed}`)
      await replay(t, exchanges, encoding, { sizeFor: () => randomSize(500) })
    },
  )
}
