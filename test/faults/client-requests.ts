import { plainAnswer } from '../fixtures/raw-upstream.ts'
import { connectRaw, parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { until } from '../fixtures/test-gateway.ts'
import type { Fault, FaultContext } from './fault.ts'
import { alike, json, openai, serves } from './observe.ts'

const body = openai.body(false)
const length = `content-length: ${body.length}`
const inChunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

interface Request {
  readonly lines: readonly string[]
  readonly content?: string
  readonly target?: string
  readonly method?: string
}

/** The bytes of a request on a connection that stays open. */
function bytesOf(context: FaultContext, request: Request): string {
  const { lines, content = body, target = openai.path(false), method = 'POST' } = request
  const head = [`${method} ${target} HTTP/1.1`, `authorization: Bearer ${context.gateway.key}`, ...lines]
  return `${head.join('\r\n')}\r\n\r\n${content}`
}

/** Sends each with a valid request after it, which must not be read as one; returns the results. */
async function refuseAll(
  context: FaultContext,
  requests: Readonly<Record<string, Request>>,
  isFollowed = true,
): Promise<string> {
  context.upstream.answer = () => plainAnswer(200, json, openai.document)
  const hidden = isFollowed ? bytesOf(context, { lines: ['host: g', length] }) : ''
  const chargeCount = (await context.gateway.charges()).length
  const found: string[] = []
  for (const request of Object.values(requests)) {
    const bytes = Buffer.from(bytesOf(context, request) + hidden, 'latin1')
    const answers = parseAnswers((await sendRaw(context.t, context.gateway.url, bytes)).bytes)
    const isError = openai.errorBody.test(answers[0]?.body.toString() ?? '')
    found.push(`${answers.map(({ status }) => status).join(', ')} ${isError ? 'with a reason' : 'OTHERWISE'}`)
  }
  const charged = (await context.gateway.charges()).length - chargeCount
  return `${alike(Object.keys(requests), found)}; sent ${context.upstream.requests.length}; charged ${charged}`
}

async function pipeline(context: FaultContext): Promise<string> {
  context.upstream.answer = () => plainAnswer(200, json, openai.document)
  const kinds = [
    bytesOf(context, { lines: ['host: g', length] }),
    bytesOf(context, { lines: ['host: g', 'content-length: 2'], content: '{}' }),
    bytesOf(context, { lines: ['host: g'], content: '', method: 'GET', target: '/v1/nothing' }),
    bytesOf(context, { lines: ['host: g'], content: '', method: 'GET', target: '/v1/models' }),
    bytesOf(context, { lines: ['host: g', length] }),
  ]
  const statuses = [200, 400, 404, 200, 200]
  const chargeCount = (await context.gateway.charges()).length
  const requests = Array.from({ length: 50 }, (_, n) => kinds[n % kinds.length] ?? '')
  const client = await connectRaw(context.t, context.gateway.url)
  client.socket.write(requests.join(''))
  await until(() => parseAnswers(client.received()).length === requests.length)
  const answers = parseAnswers(client.received())
  const isInOrder = answers.every(({ status }, n) => status === statuses[n % statuses.length])
  const areWhole = answers.every(({ isWhole }) => isWhole)
  await context.skipEnds(requests.length)
  const charges = (await context.gateway.charges()).slice(chargeCount)
  const ids = new Set(charges.map(({ requestId }) => requestId))
  client.socket.destroy()
  return `${answers.length} answers${isInOrder ? ' in order' : ''}${areWhole ? ', whole' : ''}; sent ${context.upstream.requests.length}; charged ${ids.size} of ${charges.length}`
}

/** Sends a body of 20 MB and starts to read only then; returns the status, or 0 for a reset. */
async function sendWhole(context: FaultContext, isAnnounced: boolean): Promise<number> {
  const client = await connectRaw(context.t, context.gateway.url)
  // Up to the limit it is valid JSON, as it would otherwise be refused for its content.
  const content = `{"a":"${'a'.repeat(20_000_000)}"}`
  const framing = isAnnounced ? `content-length: ${content.length}` : 'transfer-encoding: chunked'
  const framed = isAnnounced ? content : `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`
  client.socket.pause()
  await new Promise<void>(resolve => {
    client.socket.once('close', resolve)
    client.socket.write(bytesOf(context, { lines: ['host: g', framing], content: framed }), () => resolve())
  })
  client.socket.resume()
  await client.ended
  return parseAnswers(client.received())[0]?.status ?? 0
}

const framings: Readonly<Record<string, Request>> = {
  'a length and a coding': {
    lines: ['host: g', 'content-length: 5', 'transfer-encoding: chunked'],
    content: inChunks,
  },
  'a coding and a length': {
    lines: ['host: g', 'transfer-encoding: chunked', 'content-length: 5'],
    content: inChunks,
  },
  'an odd coding': { lines: ['host: g', 'transfer-encoding: xchunked'], content: inChunks },
  'a blank before the colon': { lines: ['host: g', 'transfer-encoding : chunked'], content: inChunks },
  'two codings': {
    lines: ['host: g', 'transfer-encoding: chunked', 'transfer-encoding: chunked'],
    content: inChunks,
  },
  'two lengths': { lines: ['host: g', length, 'content-length: 0'] },
  'two hosts': { lines: ['host: g', 'host: h', length] },
  'no host': { lines: [length] },
  'a NUL in a value': { lines: ['host: g', 'x-a: 1\x002', length] },
  'a bare line feed': { lines: ['host: g', 'x-a: 1\ntransfer-encoding: chunked', length] },
  'a bare carriage return': { lines: ['host: g', 'x-a: 1\rx-b: 2', length] },
}

const targets = [
  'http://other.example/v1/chat/completions',
  '//v1/chat/completions',
  '/v1//chat/completions',
  '/v1/%2e%2e/v1/chat/completions',
  '/v1/chat/../chat/completions',
  '/v1/chat%2fcompletions',
  String.raw`/v1\chat/completions`,
  '/v1/chat/completions#fragment',
]

const bodiless = ['DELETE', 'OPTIONS', 'GET', 'HEAD']

export const clientRequests: readonly Fault[] = [
  {
    number: 29,
    title: '50 pipelined requests, valid and invalid',
    expected: '50 answers in order, whole; sent 20; charged 20 of 20',
    run: pipeline,
  },
  {
    number: 30,
    title: 'a request in the body of DELETE, OPTIONS and GET, chunked or not',
    expected: '400 with a reason; sent 0; charged 0; next one served',
    async run(context) {
      const hidden = bytesOf(context, { lines: ['host: g', length] })
      const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
      const requests = Object.fromEntries(
        bodiless.slice(0, 3).flatMap(method => [
          [
            method,
            {
              method,
              target: '/v1/responses/resp_1',
              lines: ['host: g', `content-length: ${hidden.length}`],
              content: hidden,
            },
          ],
          [
            `${method} chunked`,
            {
              method,
              target: '/v1/responses/resp_1',
              lines: ['host: g', 'transfer-encoding: chunked'],
              content: chunk,
            },
          ],
        ]),
      )
      const seen = await refuseAll(context, requests, false)
      await context.skipEnds(6)
      return `${seen}; ${await serves(context)}`
    },
  },
  {
    number: 31,
    title: `ambiguous framings: ${Object.keys(framings).join(', ')}`,
    expected: '400 with a reason; sent 0; charged 0',
    run: context => refuseAll(context, framings),
  },
  {
    number: 31,
    title: `ambiguous targets: ${targets.join(' ')}`,
    expected: '400 with a reason; sent 0; charged 0',
    run: context =>
      refuseAll(
        context,
        Object.fromEntries(
          targets.map(target => [target, { target, lines: ['host: g', 'connection: close', length] }]),
        ),
      ),
  },
  {
    number: 32,
    title:
      'bodies of 20 MB where 1 MB is allowed, sent to their end before the response is read, declared or not',
    expected: '413, 413, 413, 413, 413, 413; sent 0; next one served',
    setting: { sections: { limits: { bodyBytesMax: '1MB' } } },
    async run(context) {
      const statuses: number[] = []
      for (let turn = 0; turn < 6; turn += 1) statuses.push(await sendWhole(context, turn % 2 === 0))
      await context.skipEnds(statuses.length)
      const sent = context.upstream.requests.length
      return `${statuses.join(', ')}; sent ${sent}; ${await serves(context)}`
    },
  },
  {
    number: 34,
    title: 'headers: 16 KB and more, 2,000 of them, a name that is not ASCII',
    expected: 'long, many: 431 with a reason / letters: 400 with a reason; sent 0; charged 0',
    run: context =>
      refuseAll(context, {
        long: { lines: ['host: g', `x-long: ${'a'.repeat(16_385)}`, length] },
        many: { lines: ['host: g', ...Array.from({ length: 2000 }, (_, n) => `x-header-${n}: 1`), length] },
        letters: { lines: ['host: g', 'x-\u00fc: 1', length] },
      }),
  },
  {
    number: 34,
    title: 'headers: __proto__, constructor, 900 of them, bytes beyond ASCII in a value',
    expected: '200, answered as ever; sent 4; charged 4',
    async run(context) {
      context.upstream.answer = () => plainAnswer(200, json, openai.document)
      const chargeCount = (await context.gateway.charges()).length
      const lines = [
        ['__proto__: {"isAdmin":true}'],
        ['constructor: x', 'hasOwnProperty: 1', 'toString: 2'],
        Array.from({ length: 900 }, (_, n) => `h${n}: 1`),
        ['x-latin: \u00e4\u00f6\u00fc'],
      ]
      const found: string[] = []
      for (const some of lines) {
        const request = bytesOf(context, { lines: ['host: g', 'connection: close', ...some, length] })
        const { bytes } = await sendRaw(context.t, context.gateway.url, Buffer.from(request, 'latin1'))
        const [answer] = parseAnswers(bytes)
        const isEqual = answer?.body.toString() === openai.document
        found.push(`${answer?.status}${isEqual ? ', answered as ever' : ''}`)
      }
      await context.skipEnds(lines.length)
      const charged = (await context.gateway.charges()).length - chargeCount
      return `${alike(['proto', 'constructor', 'many', 'latin'], found)}; sent ${context.upstream.requests.length}; charged ${charged}`
    },
  },
]
