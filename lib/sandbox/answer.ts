import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'

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

/**
 * The time on every answer, 2026-11-20. The sandbox has no clock: but for its ids, the same request gets the
 * same answer.
 */
export const createdSeconds = 1_795_132_800

/** What the sandbox sends: whole, or frame by frame. */
export interface SandboxAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** One item is sent with a content-length, more of them chunked, one write each. */
  readonly frames: readonly (string | Buffer)[]
  readonly isStream: boolean
  /** Wait between frames, as a model takes its time. */
  readonly isPaced: boolean
}

/** A request that a provider would refuse. The dialect chooses the words around it. */
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

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a JSON array. */
export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

const decodedBytesMax = 64 * 1024 * 1024

/** Providers take compressed bodies, and some clients send nothing else. */
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
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new SandboxFault(400, `${name}: expected a positive integer.`, name)
  }
  return value
}

/** @throws SandboxFault 404 for a name that is not the sandbox's, 429 for the model that always fails */
export function checkModel(model: unknown, notFound: (model: string) => string): string {
  if (typeof model !== 'string' || model === '') {
    throw new SandboxFault(400, 'model: expected a string.', 'model')
  }
  if (!model.startsWith('sandbox')) throw new SandboxFault(404, notFound(model), 'model')
  if (model === 'sandbox-error') {
    throw new SandboxFault(429, 'The model sandbox-error always answers that the rate limit is reached.')
  }
  return model
}

/** Whether a model is the one that takes its time. */
export function isSlow(model: string): boolean {
  return model === 'sandbox-slow'
}

/** An answer of one JSON document. */
export function jsonAnswer(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): SandboxAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    frames: [JSON.stringify(body)],
    isStream: false,
    isPaced: false,
  }
}

/** An answer of bytes of some type. */
export function bytesAnswer(body: string | Buffer, contentType: string): SandboxAnswer {
  return {
    status: 200,
    headers: { 'content-type': contentType },
    frames: [body],
    isStream: false,
    isPaced: false,
  }
}

/** A stream of events, sent at once or at a reader's pace. */
export function streamAnswer(
  frames: readonly string[],
  isPaced: boolean,
  contentType = 'text/event-stream; charset=utf-8',
): SandboxAnswer {
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': 'no-cache' },
    frames,
    isStream: true,
    isPaced,
  }
}
