import type { DialectCall } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { chunked, headLines, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import {
  alike,
  ask,
  eachDialect,
  json,
  openai,
  requestBytes,
  sentence,
  serves,
  streamHead,
} from './observe.ts'

interface Broken {
  readonly pieces: readonly Buffer[]
  readonly then: 'reset' | 'end' | 'keep'
  /** The bytes of the body that the client must receive. */
  readonly body: Buffer
  readonly isStreaming: boolean
  /** Sent when the client has all of the body. */
  readonly last?: Buffer
}

/** The provider sends these pieces and stops when the client has them all. */
async function askBroken(context: FaultContext, call: DialectCall, broken: Broken): Promise<string> {
  const { pieces, then, body, isStreaming, last } = broken
  const client = await connectRaw(context.t, context.gateway.url)
  const hasAll = (): boolean => (parseAnswers(client.received())[0]?.body.length ?? 0) >= body.length
  // A client gets the head of a stream at once, and that of a document with its first bytes.
  const isBegun = (): boolean => body.length > 0 || !isStreaming || parseAnswers(client.received()).length > 0
  context.upstream.answer = (): RawAnswer => ({
    pieces,
    then,
    async before() {
      await until(() => isBegun() && hasAll())
      for (const socket of context.upstream.openSockets) if (last !== undefined) socket.write(last)
    },
  })
  client.socket.write(requestBytes(context, call, { isStreaming }))
  const end = await client.ended
  const answers = parseAnswers(client.received())
  const seen = sentence({ end, answers, answer: answers.at(-1) }, call, body)
  return `${seen}; ${await context.nextEnd()}`
}

/** Where a stream stops. */
const cuts: Readonly<Record<string, (call: DialectCall) => Buffer>> = {
  'before the first event': () => Buffer.alloc(0),
  'after the first event with text': ({ events, eventsUntilText }) =>
    Buffer.from(events.slice(0, eventsUntilText).join('')),
  'in the middle of an event': ({ events, eventsUntilText }) =>
    Buffer.from(events.slice(0, eventsUntilText).join('') + events[eventsUntilText]?.slice(0, 9)),
  'in the middle of a character': ({ events }) => {
    const bytes = Buffer.from(events.join(''))
    return bytes.subarray(0, bytes.indexOf('\u201c') + 1)
  },
  'after the usage': ({ events, eventsUntilUsage }) =>
    Buffer.from(events.slice(0, eventsUntilUsage).join('')),
  'before the last byte': ({ events }) => Buffer.from(events.join('')).subarray(0, -1),
}

const cutSentences: Readonly<Record<string, string>> = {
  'before the first event': '200 cut, bytes equal so far, error event; broken; 0.000000 provider ambiguous',
  'after the first event with text':
    'openai, google: 200 cut, bytes equal so far, error event; broken; estimated / anthropic: 200 cut, bytes equal so far, error event; broken; estimated usage_partial',
  'in the middle of an event':
    'openai, google: 200 cut, bytes equal so far; broken; estimated answer_unreadable / anthropic: 200 cut, bytes equal so far; broken; estimated usage_partial',
  // Anthropic's first text is the event that is cut, so nothing has been delivered.
  'in the middle of a character':
    'openai, google: 200 cut, bytes equal so far; broken; estimated answer_unreadable / anthropic: 200 cut, bytes equal so far; broken; 0.000000 provider answer_unreadable usage_partial ambiguous',
  'after the usage': '200 cut, bytes equal so far, error event; broken; 0.046000 provider',
  'before the last byte': '200 cut, bytes equal so far; broken; 0.046000 provider',
}

const streamCuts: readonly Fault[] = (['reset', 'end'] as const).flatMap(then =>
  Object.entries(cuts).map(([where, bytesOf]) => ({
    number: then === 'reset' ? 16 : 17,
    title: `a stream ${then === 'reset' ? 'is reset' : 'ends without its last chunk'} ${where}`,
    expected: cutSentences[where] ?? '',
    run: context =>
      eachDialect(call => {
        const body = bytesOf(call)
        const framed = body.length === 0 ? [] : chunked([body]).slice(0, -1)
        return askBroken(context, call, { pieces: [streamHead, ...framed], then, body, isStreaming: true })
      }),
  })),
)

const lengths: readonly Fault[] = [
  {
    number: 17,
    title: 'an invalid chunk size in a stream',
    expected: cutSentences['after the first event with text'] ?? '',
    run: context =>
      eachDialect(call => {
        const body = Buffer.from(call.events.slice(0, call.eventsUntilText).join(''))
        const pieces = [streamHead, ...chunked([body]).slice(0, -1)]
        const last = Buffer.from('zz\r\n')
        return askBroken(context, call, { pieces, then: 'keep', body, isStreaming: true, last })
      }),
  },
  {
    number: 17,
    title: 'a document one byte short of its length',
    expected: '200 cut, bytes equal so far; broken; 0.046000 provider',
    run: context =>
      eachDialect(call => {
        const whole = Buffer.from(call.document)
        const head = headLines(200, [...json, 'content-length', String(whole.length)])
        const body = whole.subarray(0, -1)
        return askBroken(context, call, { pieces: [head, body], then: 'end', body, isStreaming: false })
      }),
  },
  {
    number: 17,
    title: 'a document longer than its length',
    expected: '200 whole, bytes equal; completed; 0.046000 provider; next one served',
    async run(context) {
      const seen = await eachDialect(call => {
        const body = Buffer.from(call.document)
        const head = headLines(200, [...json, 'content-length', String(body.length)])
        const pieces = [Buffer.concat([head, body, Buffer.from('{"more":1}')])]
        return askBroken(context, call, { pieces, then: 'keep', body, isStreaming: false })
      })
      return `${seen}; ${await serves(context)}`
    },
  },
]

/** Sends an event, then comments for a while, then the rest. */
async function* stream(first: string, comments: number, pauseMs: number): AsyncGenerator<string> {
  yield first
  for (let count = 0; count < comments; count += 1) {
    await new Promise(resolve => setTimeout(resolve, pauseMs))
    yield ': still there\n\n'
  }
}

const stalls: readonly Fault[] = [
  {
    number: 18,
    title: 'silence in the middle of a stream',
    expected: `${cutSentences['after the first event with text']}; no connection left`,
    setting: { provider: { timeouts: { silenceMs: 300 } } },
    async run(context) {
      const seen = await eachDialect(call => {
        const body = Buffer.from(call.events.slice(0, call.eventsUntilText).join(''))
        const pieces = [streamHead, ...chunked([body]).slice(0, -1)]
        return askBroken(context, call, { pieces, then: 'keep', body, isStreaming: true })
      })
      return `${seen}; ${context.upstream.openSockets.size === 0 ? 'no' : 'A'} connection left`
    },
  },
  {
    number: 18,
    title: 'only comments for longer than the allowed silence',
    expected: '200 whole, bytes equal; completed; 0.046000 provider',
    isSlow: true,
    setting: { provider: { timeouts: { silenceMs: 1500 } } },
    async run(context) {
      const sent: string[] = []
      context.upstream.answer = async () => {
        const [socket] = context.upstream.openSockets
        socket?.write(streamHead)
        for await (const text of stream(openai.events[0] ?? '', 8, 500)) {
          sent.push(text)
          socket?.write(chunked([Buffer.from(text)])[0] ?? '')
        }
        const rest = openai.events.slice(1)
        sent.push(...rest)
        return { pieces: chunked(rest.map(event => Buffer.from(event))) }
      }
      const received = await ask(context, openai, { isStreaming: true })
      return `${sentence(received, openai, sent.join(''))}; ${await context.nextEnd()}`
    },
  },
]

/** Sends a stream whose bytes are cut into these pieces. */
async function askInPieces(
  context: FaultContext,
  call: DialectCall,
  pieces: readonly Buffer[],
): Promise<string> {
  context.upstream.answer = () => ({ pieces: [streamHead, ...chunked(pieces)] })
  const received = await ask(context, call, { isStreaming: true })
  return `${sentence(received, call, Buffer.concat(pieces))}; ${await context.nextEnd()}`
}

const asPaid = '200 whole, bytes equal; completed; 0.046000 provider'

const framings: readonly Fault[] = [
  {
    number: 19,
    title: 'a stream byte by byte',
    expected: asPaid,
    run: context =>
      eachDialect(call => {
        const bytes = Buffer.from(call.events.join(''))
        return askInPieces(
          context,
          call,
          Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
        )
      }),
  },
  {
    number: 19,
    title: 'a stream in two pieces, split at every byte',
    expected: asPaid,
    isSlow: true,
    timeoutMs: 120_000,
    run: context =>
      eachDialect(async call => {
        const bytes = Buffer.from(call.events.join(''))
        const found: string[] = []
        for (let at = 1; at < bytes.length; at += 1)
          found.push(await askInPieces(context, call, [bytes.subarray(0, at), bytes.subarray(at)]))
        return alike(
          found.map((_, at) => `at ${at + 1}`),
          found,
        )
      }),
  },
  {
    number: 19,
    title: 'line ends of all three kinds, a byte order mark, data over several lines',
    expected: asPaid,
    run: context =>
      eachDialect(async call => {
        const text = call.events.join('').replaceAll('\r\n', '\n')
        const variants: Readonly<Record<string, string>> = {
          LF: text,
          CRLF: text.replaceAll('\n', '\r\n'),
          CR: text.replaceAll('\n', '\r'),
          'byte order mark': `\uFEFF${text}`,
          'several lines': text.replaceAll('"usage', '\ndata: "usage'),
        }
        const found: string[] = []
        for (const variant of Object.values(variants))
          found.push(await askInPieces(context, call, [Buffer.from(variant)]))
        return alike(Object.keys(variants), found)
      }),
  },
  {
    number: 19,
    title: 'an event of 1 MB',
    expected: asPaid,
    run: context =>
      eachDialect(call => {
        const text = call.events.join('').replace('\u201cf\u00fcr ever\u201d', 'word '.repeat(200_000))
        const bytes = Buffer.from(text)
        const pieces = Array.from({ length: Math.ceil(bytes.length / 50_000) }, (_, n) =>
          bytes.subarray(n * 50_000, (n + 1) * 50_000),
        )
        return askInPieces(context, call, pieces)
      }),
  },
]

export const upstreamInTheBody: readonly Fault[] = [...streamCuts, ...lengths, ...stalls, ...framings]
