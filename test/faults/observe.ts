import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { connectRaw, parseAnswers, type ParsedAnswer } from '../fixtures/raw-client.ts'
import { chunked, headLines, type RawAnswer } from '../fixtures/raw-upstream.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'
import type { FaultContext } from './fault.ts'

export const [openai, anthropic, google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]

export const json = ['content-type', 'application/json']
export const streamHead = headLines(200, [
  'content-type',
  'text/event-stream',
  'transfer-encoding',
  'chunked',
])

export interface Asked {
  readonly isStreaming?: boolean
  /** Header lines beside the usual ones, each with its line end. */
  readonly lines?: string
  readonly body?: string
  readonly path?: string
  readonly method?: string
  readonly gateway?: TestGateway
}

/** The bytes of a request that closes its connection after the response. */
export function requestBytes(context: FaultContext, call: DialectCall, asked: Asked = {}): string {
  const { isStreaming = false, lines = '', method = 'POST', gateway = context.gateway } = asked
  const { path = call.path(isStreaming), body = call.body(isStreaming) } = asked
  const [name, value] = call.keyHeader(gateway.key)
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  return (
    `${method} ${path} HTTP/1.1\r\nhost: gateway\r\n${name}: ${value}\r\ncontent-type: application/json\r\n` +
    `connection: close\r\n${lines}${length}\r\n${body}`
  )
}

/** What a client has received. */
export interface Received {
  readonly end: 'end' | 'reset'
  readonly answers: readonly ParsedAnswer[]
  /** The last response: the final one, where interim ones come first. */
  readonly answer: ParsedAnswer | undefined
}

/** Sends a request on a connection of its own, and collects what arrives until it is closed. */
export async function ask(context: FaultContext, call: DialectCall, asked: Asked = {}): Promise<Received> {
  const { gateway = context.gateway } = asked
  const client = await connectRaw(context.t, gateway.url)
  client.socket.write(requestBytes(context, call, asked))
  const end = await client.ended
  const answers = parseAnswers(client.received())
  return { end, answers, answer: answers.at(-1) }
}

/** `200 whole, bytes equal`, `200 cut, bytes equal so far, error event`, `502 in its dialect`. */
export function sentence({ answer, end }: Received, call: DialectCall, sent: Buffer | string): string {
  if (answer === undefined) return `no answer, ${end}`
  const { status, body, isWhole } = answer
  const bytes = Buffer.from(sent)
  if (isWhole && body.equals(bytes)) return `${status} whole, bytes equal`
  if (isWhole && call.errorBody.test(body.toString())) return `${status} in its dialect`
  if (isWhole) return `${status} whole, OTHER BYTES`
  const isEqual = body.subarray(0, bytes.length).equals(bytes)
  const rest = body.subarray(bytes.length).toString()
  const notice = rest === '' ? '' : call.errorEvent.test(rest) ? ', error event' : ', MORE BYTES'
  return `${status} cut${end === 'end' ? ' CLEANLY' : ''}, ${isEqual ? 'bytes equal so far' : 'OTHER BYTES'}${notice}`
}

/** Does the same in every dialect: one sentence when all results are the same. */
export async function eachDialect(run: (call: DialectCall) => Promise<string>): Promise<string> {
  const found: string[] = []
  for (const call of dialectCalls) found.push(await run(call))
  return alike(
    dialectCalls.map(({ name }) => name),
    found,
  )
}

/** The results under these names; printed once when all are the same. */
export function alike(names: readonly string[], found: readonly string[]): string {
  const sentences = [...new Set(found)]
  if (sentences.length === 1) return sentences[0] ?? ''
  const saying = (one: string): string => names.filter((_, index) => found[index] === one).join(', ')
  return sentences.map(one => `${saying(one)}: ${one}`).join(' / ')
}

/** A whole stream of a dialect, one event per chunk. */
export function streamAnswer(call: DialectCall): RawAnswer {
  return { pieces: [streamHead, ...chunked(call.events.map(event => Buffer.from(event)))] }
}

/** Checks that a valid request is served and charged; reports details only when it is not. */
export async function serves(context: FaultContext, call: DialectCall = openai): Promise<string> {
  const { upstream } = context
  upstream.answer = () => streamAnswer(call)
  const received = await ask(context, call, { isStreaming: true })
  const seen = `${sentence(received, call, call.events.join(''))}; ${await context.nextEnd()}`
  const expected = '200 whole, bytes equal; completed; 0.046000 provider'
  return seen === expected ? 'next one served' : `next one: ${seen}`
}
