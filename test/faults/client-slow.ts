import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connectRaw, parseAnswers, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, plainAnswer } from '../fixtures/raw-upstream.ts'
import type { Fault, FaultContext } from './fault.ts'
import { stalledAt } from './client-stalls.ts'
import { memoryInUse } from './memory-in-use.ts'
import { json, openai, requestBytes, serves, streamHead } from './observe.ts'
import { compareOthers } from './others-latency.ts'

const mebibyte = 1_048_576
/** For both sides: this process is also the provider and the client. */
const keptBytesMax = 2 * mebibyte
const event = Buffer.from(`data: {"choices":[{"delta":{"content":"${'a'.repeat(65_000)}"}}]}\n\n`)

/** Clients that read nothing until all of them are full, and then everything. */
async function readSlowly(context: FaultContext, clientCount: number, eventCount: number): Promise<string> {
  const events = [
    ...Array<Buffer>(eventCount).fill(event),
    ...openai.events.slice(3).map(text => Buffer.from(text)),
  ]
  const expected = createHash('sha256')
  for (const one of events) expected.update(one)
  const digest = expected.digest('hex')
  const pieces = [streamHead, ...chunked(events)]
  context.upstream.answer = () => ({ pieces, then: 'end' })
  // What the gateway compiles for the first one is not memory of a response.
  const first = await connectRaw(context.t, context.gateway.url)
  first.socket.write(requestBytes(context, openai, { isStreaming: true }))
  await first.ended
  await context.nextEnd()
  const memoryBefore = memoryInUse()
  const clients: RawClient[] = []
  for (let count = 0; count < clientCount; count += 1) {
    const client = await connectRaw(context.t, context.gateway.url)
    client.socket.pause()
    client.socket.write(requestBytes(context, openai, { isStreaming: true }))
    clients.push(client)
  }
  const sent = await stalledAt(context.upstream)
  const keptBytes = (memoryInUse() - memoryBefore) / clientCount
  const isPaused = sent < 0.6 * clientCount * eventCount * event.length
  let equal = 0
  for (const client of clients) {
    client.socket.resume()
    await client.ended
    const [answer] = parseAnswers(client.received())
    if (answer?.isWhole === true && createHash('sha256').update(answer.body).digest('hex') === digest)
      equal += 1
  }
  const ends = new Set<string>()
  for (let count = 0; count < clientCount; count += 1) ends.add(await context.nextEnd())
  const kept = keptBytes < keptBytesMax ? 'less than 2 MB' : `${Math.round(keptBytes)} bytes`
  const memory = context.isAlone ? `; ${kept} kept for each` : ''
  return `the provider ${isPaused ? 'waits' : 'DOES NOT WAIT'}${memory}; ${equal} whole, bytes equal; ${[...ends].join(' / ')}`
}

async function sendSlowly(context: FaultContext, count: number): Promise<string> {
  const request = requestBytes(context, openai)
  const head = request.slice(0, request.indexOf('\r\n\r\n') + 4)
  const clients: RawClient[] = []
  for (let n = 0; n < count; n += 1) {
    const client = await connectRaw(context.t, context.gateway.url)
    client.socket.write(n % 2 === 0 ? head.slice(0, -20) : `${head}{"model"`)
    clients.push(client)
  }
  const served = await serves(context)
  const statuses = await statusesOf(clients)
  await delay(10)
  return `${served}; ${statuses}; sent ${context.upstream.requests.length - 1} more`
}

async function statusesOf(clients: readonly RawClient[]): Promise<string> {
  const statuses = new Set<number>()
  for (const client of clients) {
    await client.ended
    statuses.add(parseAnswers(client.received())[0]?.status ?? 0)
  }
  return [...statuses].join(', ')
}

/** How long other clients wait while this many clients send a byte now and then. */
async function sendSlowlyBesideOthers(context: FaultContext, count: number): Promise<string> {
  context.upstream.answer = () => plainAnswer(200, json, openai.document)
  const request = requestBytes(context, openai)
  const head = request.slice(0, request.indexOf('\r\n\r\n') + 4)
  const found = new Set<string>()
  const seen = await compareOthers(context, async () => {
    const clients: RawClient[] = []
    for (let n = 0; n < count; n += 1) {
      const client = await connectRaw(context.t, context.gateway.url)
      // More blanks may follow in the value of a header, and in JSON.
      client.socket.write(n % 2 === 0 ? `${head.slice(0, -2)}x-slow: a` : `${head}{`)
      clients.push(client)
    }
    let isOver = false
    for (const client of clients) void client.ended.then(() => (isOver = true))
    const trickle = setInterval(() => {
      for (const { socket } of clients) if (!socket.destroyed) socket.write(' ')
    }, 500)
    return {
      isOver: () => isOver,
      async end() {
        clearInterval(trickle)
        found.add(await statusesOf(clients))
      },
    }
  })
  return `${seen}; ${[...found].join(' / ')}`
}

export const clientSlow: readonly Fault[] = [
  {
    number: 27,
    title: 'a client stops reading 32 MB, the provider ends, the client continues',
    expected:
      'the provider waits; less than 2 MB kept for each; 1 whole, bytes equal; completed; 0.046000 provider',
    run: context => readSlowly(context, 1, Math.ceil((32 * mebibyte) / event.length)),
  },
  {
    number: 27,
    title: '15 clients stop reading 48 MB each, and continue one after another',
    expected:
      'the provider waits; less than 2 MB kept for each; 15 whole, bytes equal; completed; 0.046000 provider',
    isSlow: true,
    timeoutMs: 120_000,
    run: context => readSlowly(context, 15, Math.ceil((48 * mebibyte) / event.length)),
  },
  {
    number: 28,
    title: '100 clients send their head or their body too slowly',
    expected: 'next one served; 408; sent 0 more',
    setting: { sections: { limits: { headersMs: 1000, bodyMs: 1000 } } },
    run: context => sendSlowly(context, 100),
  },
  {
    number: 28,
    title: 'other clients beside 1,000 clients that send a byte now and then',
    expected: "others' p99 at most 5 times as long; 408",
    isSlow: true,
    timeoutMs: 180_000,
    setting: { sections: { limits: { headersMs: 5000, bodyMs: 5000 } } },
    run: context => sendSlowlyBesideOthers(context, 1000),
  },
  {
    number: 28,
    title:
      '9,000 clients send their head or their body too slowly (10,000 do not fit into 20,000 descriptors)',
    expected: 'next one served; 408; sent 0 more',
    isSlow: true,
    timeoutMs: 120_000,
    setting: { sections: { limits: { headersMs: 30_000, bodyMs: 30_000 } } },
    run: context => sendSlowly(context, 9000),
  },
]
