import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { chunked, headLines, plainAnswer } from '../fixtures/raw-upstream.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, ask, eachDialect, json, openai, sentence, streamAnswer, streamHead } from './observe.ts'

const chunk = (fields: string): string =>
  `data: {"id":"c-1","object":"chat.completion.chunk","model":"test-model",${fields}}\n\n`
const text = chunk('"choices":[{"index":0,"delta":{"content":"Once upon a time"}}]')
const usage = (value: string): string => chunk(`"choices":[],"usage":${value}`)
const done = 'data: [DONE]\n\n'
const good = usage('{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}')

/** The content of a stream, and the charge for it. */
const oddStreams: Readonly<Record<string, readonly [stream: string, paid: string]>> = {
  'invalid JSON in one event': [
    `${text}data: {"choices":[{\n\n${good}${done}`,
    '0.046000 provider answer_unreadable',
  ],
  'usage null': [`${text}${usage('null')}${done}`, 'estimated usage_missing'],
  'usage of zeros': [
    `${text}${usage('{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}')}${done}`,
    'estimated usage_zero usage_missing',
  ],
  'no usage': [`${text}${done}`, 'estimated usage_missing'],
  'a negative count': [
    `${text}${usage('{"prompt_tokens":12,"completion_tokens":-34}')}${done}`,
    'estimated usage_invalid estimate_rough reasoning_estimated ambiguous',
  ],
  'counts as text': [
    `${text}${usage('{"prompt_tokens":"12","completion_tokens":"34"}')}${done}`,
    '0.046000 provider usage_as_text',
  ],
  'a count of 1e400': [
    `${text}${usage('{"prompt_tokens":12,"completion_tokens":1e400}')}${done}`,
    'estimated usage_invalid estimate_rough reasoning_estimated ambiguous',
  ],
  'a missing count': [
    `${text}${usage('{"prompt_tokens":12}')}${done}`,
    'estimated estimate_rough reasoning_estimated',
  ],
  'two usages, the later one larger': [
    `${text}${usage('{"prompt_tokens":12,"completion_tokens":1}')}${good}${done}`,
    '0.046000 provider',
  ],
  'usage before the text': [`${good}${text}${done}`, '0.046000 provider'],
  'fields that nobody knows': [
    `${text}${usage('{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,"__proto__":{"a":1},"new_tokens":5}')}${done}`,
    '0.046000 provider',
  ],
}

const odd: readonly Fault[] = Object.entries(oddStreams).map(([name, [stream, paid]]) => ({
  number: 20,
  title: name,
  expected: `200 whole, bytes equal; completed; ${paid}`,
  async run(context) {
    context.upstream.answer = () => ({ pieces: [streamHead, ...chunked([Buffer.from(stream)])] })
    const received = await ask(context, openai, { isStreaming: true })
    return `${sentence(received, openai, stream)}; ${await context.nextEnd()}`
  },
}))

/** An encoded document; returns the client's bytes and the charge. */
async function askEncoded(context: FaultContext, encoding: string, bytes: Buffer): Promise<string> {
  context.upstream.answer = () => plainAnswer(200, [...json, 'content-encoding', encoding], bytes)
  const received = await ask(context, openai)
  return `${sentence(received, openai, bytes)}; ${await context.nextEnd()}`
}

const encodings: readonly Fault[] = [
  {
    number: 21,
    title: 'gzip, br, zstd and deflate',
    expected: '200 whole, bytes equal; completed; 0.046000 provider',
    async run(context) {
      const encoded: Readonly<Record<string, Buffer>> = {
        gzip: gzipSync(openai.document),
        br: brotliCompressSync(openai.document),
        zstd: zstdCompressSync(openai.document),
        deflate: deflateSync(openai.document),
      }
      const found: string[] = []
      for (const [encoding, bytes] of Object.entries(encoded))
        found.push(await askEncoded(context, encoding, bytes))
      return alike(Object.keys(encoded), found)
    },
  },
  {
    number: 21,
    title: 'an unknown encoding, and a thousand of them',
    expected: '200 whole, bytes equal; completed; estimated usage_unreadable reasoning_estimated',
    async run(context) {
      const one = await askEncoded(context, 'xz', Buffer.from('whatever it is'))
      const many = await askEncoded(
        context,
        Array(1000).fill('gzip').join(', '),
        Buffer.from('whatever it is'),
      )
      return alike(['one', 'a thousand'], [one, many])
    },
  },
  {
    number: 21,
    title: 'truncated gzip',
    expected:
      '200 whole, bytes equal; completed; estimated answer_unreadable usage_unreadable reasoning_estimated',
    run: context => askEncoded(context, 'gzip', gzipSync(openai.document).subarray(0, 40)),
  },
  {
    number: 21,
    title: 'a bomb of 1 GB of zeros',
    expected: '200 whole, bytes equal; completed; paid or flagged; memory bounded',
    run: context => askBomb(context, 1),
  },
  {
    number: 21,
    title: 'a bomb of 10 GB of zeros',
    expected: '200 whole, bytes equal; completed; paid or flagged; memory bounded',
    isSlow: true,
    timeoutMs: 300_000,
    run: context => askBomb(context, 10),
  },
]

async function askBomb(context: FaultContext, gibibytes: number): Promise<string> {
  const bomb = zerosInGzip(gibibytes)
  let rssMax = 0
  const timer = setInterval(() => (rssMax = Math.max(rssMax, process.memoryUsage.rss())), 10)
  const before = process.memoryUsage.rss()
  const seen = await askEncoded(context, 'gzip', bomb)
  clearInterval(timer)
  const isBounded = rssMax - before < 200 * 1_048_576
  const isFlagged = /usage_|answer_/.test(seen)
  const answer = seen.split('; ').slice(0, 2).join('; ')
  return `${answer}; ${isFlagged ? 'paid or flagged' : 'NOT FLAGGED'}; memory ${isBounded ? 'bounded' : 'NOT BOUNDED'}`
}

/** A file of many members, each 16 MB of zeros. */
function zerosInGzip(gibibytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(16 * 1_048_576), { level: 9 })
  return Buffer.concat(Array<Buffer>(gibibytes * 64).fill(member))
}

const oddAnswers: readonly Fault[] = [
  {
    number: 22,
    title: 'trailers after the last chunk, for a client that reads them',
    expected:
      '200 whole, bytes equal; completed; 0.046000 provider; trailers: X-Checksum: abc, server-timing: a;dur=1; not among the headers',
    run: context => askTrailers(context, 'te: trailers\r\n'),
  },
  {
    number: 22,
    title: 'trailers after the last chunk, for a client that does not read them',
    expected: '200 whole, bytes equal; completed; 0.046000 provider; trailers: none; not among the headers',
    run: context => askTrailers(context, 'te: gzip\r\n'),
  },
  {
    number: 23,
    title: 'status 200 with HTML',
    expected: '200 whole, bytes equal; completed; estimated usage_missing',
    run: context =>
      eachDialect(async call => {
        const html = '<!doctype html><title>Sign in</title>'
        context.upstream.answer = () => plainAnswer(200, ['content-type', 'text/html'], html)
        return `${sentence(await ask(context, call), call, html)}; ${await context.nextEnd()}`
      }),
  },
  {
    number: 23,
    title: 'success without a body: empty, and 204',
    expected: 'whole, bytes equal; completed; 0.000000 provider usage_missing',
    run: context =>
      eachDialect(async call => {
        const found: string[] = []
        for (const status of [200, 204]) {
          const empty = plainAnswer(200, json, '')
          context.upstream.answer = () => (status === 200 ? empty : { pieces: [headLines(204, [])] })
          const seen = sentence(await ask(context, call), call, '').replace(`${status} `, '')
          found.push(`${seen}; ${await context.nextEnd()}`)
        }
        return alike(['empty', '204'], found)
      }),
  },
  {
    number: 23,
    title: 'HEAD',
    expected: '200, no body; completed; nothing owed',
    async run(context) {
      const received = await ask(context, openai, { method: 'HEAD', path: '/v1/models', body: '' })
      const size = received.answer?.body.length === 0 ? 'no' : 'A'
      return `${received.answer?.status}, ${size} body; ${await context.nextEnd()}`
    },
  },
  {
    number: 24,
    title: 'an error event at the start of a stream with status 200',
    expected: '200 whole, bytes equal; completed; 0.000000 provider provider_error',
    run: context => eachDialect(call => askErrorEvent(context, call, 0)),
  },
  {
    number: 24,
    title: 'an error event in a stream with status 200, after some text',
    // Anthropic has reported a usage by then, and the last one reported counts.
    expected:
      'openai, google: 200 whole, bytes equal; completed; estimated usage_missing / anthropic: 200 whole, bytes equal; completed; 0.013000 provider usage_partial',
    run: context => eachDialect(call => askErrorEvent(context, call, call.eventsUntilText)),
  },
]

/** Caching, a cookie and the provider's account do not belong in a trailer; a checksum and timing may be in one. */
const trailers =
  'X-Checksum: abc\r\ncache-control: no-store\r\nset-cookie: a=b\r\nopenai-organization: o\r\nserver-timing: a;dur=1\r\n'

function askTrailers(context: FaultContext, lines: string): Promise<string> {
  return eachDialect(async call => {
    const framed = chunked(call.events.map(event => Buffer.from(event))).slice(0, -1)
    context.upstream.answer = () => ({
      pieces: [streamHead, ...framed, Buffer.from(`0\r\n${trailers}\r\n`)],
    })
    const received = await ask(context, call, { isStreaming: true, lines })
    const { headers, trailers: passed = [] } = received.answer ?? {}
    const isMerged = ['x-checksum', 'server-timing'].some(name => headers?.has(name) === true)
    const seen = `${sentence(received, call, call.events.join(''))}; ${await context.nextEnd()}`
    return `${seen}; trailers: ${passed.join(', ') || 'none'}; ${isMerged ? 'AMONG' : 'not among'} the headers`
  })
}

const errorEvents = {
  openai: 'data: {"error":{"message":"Busy","type":"server_error","code":"busy"}}\n\n',
  anthropic:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  google: 'data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\r\n\r\n',
}

async function askErrorEvent(
  context: FaultContext,
  call: typeof openai,
  eventCount: number,
): Promise<string> {
  const stream = call.events.slice(0, eventCount).join('') + errorEvents[call.name]
  context.upstream.answer = () => ({ ...streamAnswer({ ...call, events: [stream] }) })
  const received = await ask(context, call, { isStreaming: true })
  return `${sentence(received, call, stream)}; ${await context.nextEnd()}`
}

export const upstreamUsage: readonly Fault[] = [...odd, ...encodings, ...oddAnswers]
