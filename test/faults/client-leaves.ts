import { setTimeout as delay } from 'node:timers/promises'
import { openForWriting } from '../../lib/stores/sqlite/sqlite-database.ts'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { connectRaw, type RawClient } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, json, requestBytes, streamHead } from './observe.ts'

interface Stage {
  readonly context: FaultContext
  readonly call: DialectCall
  readonly isStreaming: boolean
  readonly client: RawClient
}

/** Brings an exchange to the point at which its client leaves. Returns what to do after that. */
type Phase = (stage: Stage) => Promise<(() => void) | undefined>

/** Sends the head and this many bytes of the body; a negative number cuts the head. */
function sendUntil(bodyBytes: number): Phase {
  return async ({ context, call, isStreaming, client }) => {
    const request = requestBytes(context, call, { isStreaming })
    client.socket.write(request.slice(0, request.indexOf('\r\n\r\n') + 4 + bodyBytes))
    await delay(20)
    return undefined
  }
}

const jsonHead = headLines(200, [...json, 'transfer-encoding', 'chunked'])

/** The provider sends this part of the response, and waits until it may continue, or is stopped. */
function answerUntil(bytesOf: (call: DialectCall, isStreaming: boolean) => Buffer): Phase {
  return async ({ context, call, isStreaming, client }) => {
    let goOn: () => void = () => undefined
    const resumed = new Promise<void>(resolve => (goOn = resolve))
    const begun = bytesOf(call, isStreaming)
    const whole = Buffer.from(isStreaming ? call.events.join('') : call.document)
    context.upstream.answer = async () => {
      const [socket] = context.upstream.openSockets
      if (begun.length > 0) {
        socket?.write(isStreaming ? streamHead : jsonHead)
        socket?.write(chunked([begun])[0] ?? '')
      }
      await resumed
      const rest =
        begun.length === whole.length ? [Buffer.from('0\r\n\r\n')] : chunked([whole.subarray(begun.length)])
      return { pieces: begun.length > 0 ? rest : [isStreaming ? streamHead : jsonHead, ...rest] }
    }
    const before = context.upstream.requests.length
    client.socket.write(requestBytes(context, call, { isStreaming }))
    await until(() => context.upstream.requests.length > before)
    if (begun.length > 0) await until(() => client.received().includes(begun.subarray(-20)))
    return goOn
  }
}

/** The store does not accept the hold, so the response waits. */
const waitForHold: Phase = async ({ context, call, isStreaming, client }) => {
  const database = openForWriting(context.gateway.storeFile)
  database.exec('BEGIN IMMEDIATE')
  // All of it at once: what arrives later is not read while the response waits.
  const events = Buffer.from(call.events.join(''))
  const whole: RawAnswer = isStreaming
    ? { pieces: [Buffer.concat([streamHead, ...chunked([events])])] }
    : plainAnswer(200, json, call.document)
  context.upstream.answer = () => whole
  const before = context.upstream.requests.length
  client.socket.write(requestBytes(context, call, { isStreaming }))
  await until(() => context.upstream.requests.length > before)
  await delay(30)
  return () => {
    database.exec('ROLLBACK')
    database.close()
  }
}

const middle = (call: DialectCall, isStreaming: boolean): Buffer =>
  isStreaming
    ? Buffer.from(
        call.events.slice(0, call.eventsUntilText).join('') + call.events[call.eventsUntilText]?.slice(0, 9),
      )
    : Buffer.from(call.document).subarray(0, -30)
const all = (call: DialectCall, isStreaming: boolean): Buffer =>
  Buffer.from(isStreaming ? call.events.join('') : call.document)

interface Leaving {
  readonly title: string
  readonly phase: Phase
  readonly policy: 'abort' | 'drain'
  readonly expected: string
}

const early = 'nothing was sent; aborted; nothing owed'

const leavings: readonly Leaving[] = [
  {
    title: 'in the middle of its head',
    phase: sendUntil(-10),
    policy: 'abort',
    expected: 'nothing was sent; no exchange',
  },
  { title: 'before its body', phase: sendUntil(0), policy: 'abort', expected: early },
  { title: 'in the middle of its body', phase: sendUntil(20), policy: 'abort', expected: early },
  {
    title: 'while its hold is not on disk',
    phase: waitForHold,
    policy: 'abort',
    expected: 'aborted; 0.046000 provider',
  },
  {
    title: 'before the first byte of the response',
    phase: answerUntil(() => Buffer.alloc(0)),
    policy: 'abort',
    expected: 'the provider was stopped; aborted; estimated ambiguous reasoning_estimated',
  },
  {
    title: 'before the first byte of the response, which is read on',
    phase: answerUntil(() => Buffer.alloc(0)),
    policy: 'drain',
    expected: 'read on; aborted; 0.046000 drained',
  },
  {
    title: 'in the middle of the response',
    phase: answerUntil(middle),
    policy: 'abort',
    expected:
      'openai stream, google stream: the provider was stopped; aborted; estimated answer_unreadable reasoning_estimated / openai, anthropic, google: the provider was stopped; aborted; estimated reasoning_estimated / anthropic stream: the provider was stopped; aborted; estimated usage_partial reasoning_estimated',
  },
  {
    title: 'in the middle of the response, which is read on',
    phase: answerUntil(middle),
    policy: 'drain',
    expected: 'read on; aborted; 0.046000 drained',
  },
  {
    title: 'between the last event and the end',
    phase: answerUntil(all),
    policy: 'abort',
    // A document has no last event: only its end shows that it is whole.
    expected:
      'openai stream, anthropic stream, google stream: the provider was stopped; completed; 0.046000 provider / openai, anthropic, google: the provider was stopped; aborted; 0.046000 provider',
  },
]

async function leave(context: FaultContext, { phase, policy }: Leaving): Promise<string> {
  const names: string[] = []
  const found: string[] = []
  for (const call of dialectCalls) {
    for (const isStreaming of [true, false]) {
      const { upstream } = context
      for (const socket of upstream.openSockets) socket.destroy()
      await until(() => upstream.openSockets.size === 0)
      const before = upstream.requests.length
      const client = await connectRaw(context.t, context.gateway.url)
      const after = await phase({ context, call, isStreaming, client })
      client.socket.resetAndDestroy()
      const wasSent = upstream.requests.length > before
      let trace = wasSent ? '' : 'nothing was sent; '
      if (phase !== waitForHold && wasSent) {
        if (policy === 'abort') {
          await until(() => upstream.openSockets.size === 0, 1000)
          trace = 'the provider was stopped; '
        } else {
          await delay(30)
          trace = `${upstream.openSockets.size === 1 ? 'read on' : 'NOT READ ON'}; `
        }
      } else await delay(20)
      after?.()
      const isBegun = context.gateway.logLines.length > 0 || wasSent
      names.push(`${call.name}${isStreaming ? ' stream' : ''}`)
      found.push(trace + (isBegun ? await context.nextEnd() : 'no exchange'))
    }
  }
  return alike(names, found)
}

export const clientLeaves: readonly Fault[] = leavings.map(leaving => ({
  number: 26,
  title: `a client leaves ${leaving.title}`,
  expected: leaving.expected,
  setting: { provider: { onClientLeft: leaving.policy } },
  run: context => leave(context, leaving),
}))
