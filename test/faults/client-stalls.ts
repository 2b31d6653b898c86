import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { callConfig } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, type RawUpstream } from '../fixtures/raw-upstream.ts'
import type { ServedProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'
import type { Fault, FaultContext } from './fault.ts'
import { eachDialect, openai, requestBytes, streamHead } from './observe.ts'
import { requestStream } from './served.ts'
import { answerForever } from './upstream-endless.ts'

const mebibyte = 1_048_576
/** The memory that a stalled reader may cost, without the kernel's buffers. */
const keptBytesMax = mebibyte
const warmUpCount = 4
const event = Buffer.from(`data: {"choices":[{"delta":{"content":"${'a'.repeat(65_000)}"}}]}\n\n`)

/** The bytes that have left the provider, once no more leave for a while. */
export async function stalledAt({ openSockets }: RawUpstream): Promise<number> {
  let sent = -1
  let since = performance.now()
  await until(() => {
    let now = 0
    for (const socket of openSockets) now += socket.bytesWritten - socket.writableLength
    if (now !== sent) since = performance.now()
    sent = now
    return sent > 0 && performance.now() - since > 200
  }, 60_000)
  return sent
}

const rssBytes = ({ child }: ServedProcess): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024

interface Readers {
  readonly count: number
  /** How many of them continue to the end; the others leave. */
  readonly readingOn: number
  readonly megabytes: number
}

/** Clients of a gateway of its own stop reading at the first byte. */
async function standStill(context: FaultContext, readers: Readers): Promise<string> {
  const { upstream } = context
  const config = callConfig(
    upstream.origin,
    { onClientLeft: 'abort' },
    { limits: { memoryBytesMax: '4GB' }, log: { level: 'warn' } },
  )
  const served = await context.serve({ config })
  const eventCount = Math.ceil((readers.megabytes * mebibyte) / event.length)
  const last = openai.events.slice(3).map(text => Buffer.from(text))
  const digest = createHash('sha256')
  for (let count = 0; count < eventCount; count += 1) digest.update(event)
  for (const one of last) digest.update(one)
  const expected = digest.digest('hex')
  upstream.answer = () => ({
    pieces: [streamHead, ...chunked([...Array<Buffer>(eventCount).fill(event), ...last])],
  })
  // The first ones make the gateway load and compile what it needs.
  for (let count = 0; count < warmUpCount; count += 1) await readOn(await requestStream(context, served))
  const before = rssBytes(served)
  const clients: RawClient[] = []
  while (clients.length < readers.count) {
    const client = await requestStream(context, served)
    await until(() => client.socket.bytesRead > 0)
    client.socket.pause()
    // A machine that is busy with other things may be too slow for a moment: such a request was refused.
    if (client.received().toString('latin1', 0, 12) === 'HTTP/1.1 200') clients.push(client)
    else client.socket.destroy()
  }
  const sent = await stalledAt(upstream)
  const isPaused = sent < 0.6 * readers.count * eventCount * event.length
  const keptBytes = (rssBytes(served) - before) / readers.count
  let equalCount = 0
  for (const [index, client] of clients.entries()) {
    if (index >= readers.readingOn) client.socket.destroy()
    else equalCount += (await readOn(client)) === expected ? 1 : 0
  }
  await until(async () => (await served.heldMicros()) === 0)
  const outcomes = new Map<string, number>()
  for (const { outcome, usageSource } of await served.charges())
    outcomes.set(`${outcome} ${usageSource}`, (outcomes.get(`${outcome} ${usageSource}`) ?? 0) + 1)
  const ends = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).toSorted()
  const kept = keptBytes < keptBytesMax ? 'less than 1 MB' : `${Math.round(keptBytes)} bytes`
  return `the provider ${isPaused ? 'waits' : 'DOES NOT WAIT'}; ${kept} kept for each; ${equalCount} whole, bytes equal; ${ends.join(', ')}; ${(await served.breaches()).length} breaches`
}

/** The digest of the response's body. */
async function readOn(client: RawClient): Promise<string | undefined> {
  client.socket.resume()
  let size = -1
  // Joining the chunks is expensive, so it is done when no more arrive.
  await until(() => {
    const now = client.socket.bytesRead
    const isStill = now === size
    size = now
    return isStill && now > 0 && client.received().subarray(-5).toString() === '0\r\n\r\n'
  }, 60_000)
  const [answer] = parseAnswers(client.received())
  client.socket.destroy()
  return answer?.isWhole === true ? createHash('sha256').update(answer.body).digest('hex') : undefined
}

/** A client reads nothing of its response for longer than allowed. */
function stall(context: FaultContext): Promise<string> {
  return eachDialect(async call => {
    answerForever(context, call)
    const client = await connectRaw(context.t, context.gateway.url)
    client.socket.write(requestBytes(context, call, { isStreaming: true }))
    await until(() => client.socket.bytesRead > 0)
    client.socket.pause()
    const end = await context.nextEnd()
    await until(() => context.upstream.openSockets.size === 0)
    client.socket.resume()
    return `${await client.ended}; ${end}; the provider is stopped`
  })
}

export const clientStalls: readonly Fault[] = [
  {
    number: 27,
    title: 'a client reads nothing of its response for stallMs',
    expected:
      'openai, google: reset; aborted; estimated drain_limited; the provider is stopped / anthropic: reset; aborted; estimated usage_partial drain_limited; the provider is stopped',
    setting: { sections: { limits: { stallMs: 300 } } },
    run: stall,
  },
  {
    number: 27,
    title: '200 clients stop reading 50 MB each; 5 continue, the others leave',
    expected:
      'the provider waits; less than 1 MB kept for each; 5 whole, bytes equal; 195 aborted estimated, 9 completed provider; 0 breaches',
    isSlow: true,
    timeoutMs: 240_000,
    run: context => standStill(context, { count: 200, readingOn: 5, megabytes: 50 }),
  },
]
