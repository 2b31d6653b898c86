import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'

/** A unit vector derived from the text alone: equal texts have equal vectors. */
export function vector(text: string, dimensions: number): readonly number[] {
  const values: number[] = []
  for (let block = 0; values.length < dimensions; block += 1) {
    const digest = hash('sha256', `${block}:${text}`, 'buffer')
    for (let index = 0; index < digest.length && values.length < dimensions; index += 4) {
      values.push(digest.readInt32LE(index) / 0x80000000)
    }
  }
  const length = Math.hypot(...values) || 1
  return values.map(value => value / length)
}

/** A request as the sandbox's dialects see it. */
export interface SandboxRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** Lower-case names; the first value of each. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The request with its whole body; undefined if the body is too large. */
export async function readRequest(
  incoming: IncomingMessage,
  bodyBytesMax: number,
): Promise<SandboxRequest | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return undefined
    chunks.push(chunk)
  }
  const url = new URL(incoming.url ?? '/', 'http://sandbox')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    const first = Array.isArray(value) ? value[0] : value
    if (first !== undefined) headers[name] = first
  }
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: Buffer.concat(chunks),
  }
}

/**
 * The time in every response, 2026-11-20. The sandbox has no clock: except for ids, equal requests get equal responses.
 */
export const createdSeconds = 1_795_132_800

/** A response of the sandbox: complete, or frame by frame. */
export interface SandboxResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** One item is sent with a content-length, more of them chunked, one write each. */
  readonly frames: readonly (string | Buffer)[]
  readonly isStream: boolean
  /** Whether to wait between frames, like a slow model. */
  readonly isPaced: boolean
}

/** A request that a provider would refuse. The dialect chooses the form of the error. */
export class SandboxFault extends Error {
  readonly status: 400 | 404 | 405 | 413 | 429
  readonly param: string | undefined

  constructor(status: SandboxFault['status'], message: string, param?: string) {
    super(message)
    this.name = 'SandboxFault'
    this.status = status
    this.param = param
  }
}

/** A JSON object with members of any kind. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a JSON array. */
export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

const decodedBytesMax = 64 * 1024 * 1024

/** Providers accept compressed bodies, and some clients send nothing else. */
function decodedBody({ headers, body }: SandboxRequest): Buffer {
  const options = { maxOutputLength: decodedBytesMax }
  switch (headers['content-encoding']?.toLowerCase()) {
    case 'zstd':
      return zstdDecompressSync(body, options)
    case 'gzip':
      return gunzipSync(body, options)
    case 'br':
      return brotliDecompressSync(body, options)
    case 'deflate':
      return inflateSync(body, options)
    default:
      return body
  }
}

/** @throws SandboxFault 400 when the body is not a JSON object */
export function jsonBody(request: SandboxRequest): JsonObject {
  let parsed: unknown
  try {
    parsed = JSON.parse(decodedBody(request).toString('utf8'))
  } catch {
    throw new SandboxFault(400, 'The body is not valid JSON.')
  }
  if (!isObject(parsed)) throw new SandboxFault(400, 'The body is not a JSON object.')
  return parsed
}

/** A positive whole number, or undefined when the member is absent or null. */
export function optionalCount(body: JsonObject, name: string): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw new SandboxFault(400, `${name}: expected a positive integer.`, name)
  return value
}

/** @throws SandboxFault 404 for a name that is not the sandbox's, 429 for the model that always fails */
export function checkModel(model: unknown, notFound: (model: string) => string): string {
  if (typeof model !== 'string' || model === '')
    throw new SandboxFault(400, 'model: expected a string.', 'model')
  if (!model.startsWith('sandbox')) throw new SandboxFault(404, notFound(model), 'model')
  if (model === 'sandbox-error')
    throw new SandboxFault(429, 'The model sandbox-error always answers that the rate limit is reached.')
  return model
}

/** Whether a model is the slow one. */
export function isSlow(model: string): boolean {
  return model === 'sandbox-slow'
}

/** A response of one JSON document. */
export function jsonResponse(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): SandboxResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    frames: [JSON.stringify(body)],
    isStream: false,
    isPaced: false,
  }
}

/** A response of bytes of some type. */
export function bytesResponse(body: string | Buffer, contentType: string): SandboxResponse {
  return {
    status: 200,
    headers: { 'content-type': contentType },
    frames: [body],
    isStream: false,
    isPaced: false,
  }
}

/** A stream of events, sent at once or at a reader's pace. */
export function streamResponse(
  frames: readonly string[],
  isPaced: boolean,
  contentType = 'text/event-stream; charset=utf-8',
): SandboxResponse {
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': 'no-cache' },
    frames,
    isStream: true,
    isPaced,
  }
}

const echoCharactersMax = 200
const tokenCharactersMax = 8
const imageTokens = 85

/** The contents of a prompt: its text counts by bytes, each image or file as a fixed number of tokens. */
export interface Prompt {
  readonly tokens: number
  readonly mediaTokens: number
  readonly lastText: string
}

/** The sandbox's reply, truncated at the request's cap. */
export interface Reply {
  readonly text: string
  /** One piece is one token; together they are the text. */
  readonly pieces: readonly string[]
  readonly isCut: boolean
}

/** Four bytes a token, as English text has on average; at least one for any text. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** The same text always gets the same reply. */
export function makeReply(lastText: string, tokensMax: number | undefined): Reply {
  const characters = Array.from(lastText.trim())
  const echo = characters.slice(0, echoCharactersMax).join('')
  const rest = characters.length > echoCharactersMax ? '...' : ''
  const said = echo === '' ? 'You sent no text.' : `You said: ${echo}${rest}`
  const all = split(`This is the gateway's sandbox, not a model. ${said}`)
  const pieces = tokensMax === undefined ? all : all.slice(0, tokensMax)
  return { text: pieces.join(''), pieces, isCut: pieces.length < all.length }
}

/** Words with the space before them, long ones in pieces; characters are never split. */
function split(text: string): readonly string[] {
  const pieces: string[] = []
  for (const word of text.match(/\s*\S+/g) ?? []) {
    const characters = Array.from(word)
    for (let start = 0; start < characters.length; start += tokenCharactersMax) {
      pieces.push(characters.slice(start, start + tokenCharactersMax).join(''))
    }
  }
  return pieces
}

/** Reads a list of messages in any of the dialects, and a separate system prompt. */
export function readPrompt(messages: unknown, system?: unknown): Prompt {
  const total = { textBytes: 0, media: 0 }
  measure(system, total)
  measure(messages, total)
  const mediaTokens = total.media * imageTokens
  return {
    tokens: Math.max(1, Math.ceil(total.textBytes / 4)) + mediaTokens,
    mediaTokens,
    lastText: lastUserText(messages),
  }
}

/** Adds up the text of messages, contents and parts, and counts what is not text. */
function measure(value: unknown, total: { textBytes: number; media: number }): void {
  if (typeof value === 'string') {
    total.textBytes += Buffer.byteLength(value)
  } else if (isArray(value)) {
    for (const item of value) measure(item, total)
  } else if (isObject(value)) {
    const content = value['content'] ?? value['parts'] ?? value['text']
    if (content === undefined) total.media += 1
    else measure(content, total)
  }
}

function lastUserText(messages: unknown): string {
  if (typeof messages === 'string') return messages
  if (isObject(messages)) return textOf(messages)
  if (!isArray(messages)) return ''
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]
    if (typeof message === 'string') return message
    if (isObject(message) && (message['role'] ?? 'user') === 'user') return textOf(message)
  }
  return ''
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (isArray(value)) {
    return value
      .map(textOf)
      .filter(text => text !== '')
      .join(' ')
  }
  if (isObject(value)) return textOf(value['content'] ?? value['parts'] ?? value['text'])
  return ''
}
