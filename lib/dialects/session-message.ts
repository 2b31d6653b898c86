import { GatewayError } from '../pipeline/errors.ts'
import {
  JsonScanError,
  JsonScanner,
  type Interest,
  type ScanOptions,
  type ScanResult,
} from '../http/json-scan.ts'

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>

/** Work that is done step by step, so that a long message keeps nobody waiting. */
export type Steps<T> = Generator<undefined, T>

/** How much of a message is scanned in one step. */
const stepBytes = 16_384
/** More parts than any message needs; each takes up some memory. */
const findingsMax = 20_000

/**
 * What a message from a client says of what is of interest.
 * @throws GatewayError body_invalid, also for JSON that is no object; field_ambiguous
 */
export function* scanMessage(
  message: Buffer,
  interest: Interest,
  options: ScanOptions = {},
): Steps<ScanResult> {
  const scanner = new JsonScanner(interest, { findingsMax, ...options }, true)
  try {
    for (let start = 0; start < message.length; start += stepBytes) {
      if (start > 0) yield undefined
      scanner.push(message.subarray(start, start + stepBytes))
    }
    const found = scanner.end()
    if (scanner.isObject) return found
  } catch (error) {
    throw toldError(error)
  }
  throw new GatewayError('body_invalid', 'A message must be a JSON object.')
}

/** An error of the scan as the client is told it. */
function toldError(error: unknown): unknown {
  if (!(error instanceof JsonScanError)) return error
  return new GatewayError(error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid', error.message, {
    cause: error,
    ...(error.path === '' ? {} : { param: error.path }),
  })
}

/** The length of strings that are no text: audio and images. */
export function encodedLength(scan: ScanResult, name: string): number {
  let length = 0
  for (const found of scan.findings) {
    if (found.name === name && found.type === 'string') length += found.end - found.start - 2
  }
  return length
}

/** How many values of a name there are. */
export function countOf(scan: ScanResult, name: string): number {
  return scan.findings.filter(found => found.name === name && found.type !== 'null').length
}

/** How long audio is that stands encoded in so many characters, by the bytes that a second of it takes. */
export function encodedSeconds(encodedLength: number, bytesPerSecond: number): number {
  return (encodedLength * 3) / 4 / bytesPerSecond
}

/** A provider's message; undefined for what is no JSON, which is passed on unread. */
export function parseMessage(message: Buffer): Fields {
  try {
    return fieldsOf(JSON.parse(message.toString('utf8')))
  } catch {
    return {}
  }
}

/** The members of an object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The bytes of a text; 0 for anything else. */
export function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}
