import { GatewayError } from '../errors.ts'
import {
  JsonScanError,
  JsonScanner,
  type Interest,
  type ScanOptions,
  type ScanResult,
} from '../http/json-scan.ts'

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * What a message from a client says of what is of interest.
 * @throws GatewayError body_invalid, also for JSON that is no object; field_ambiguous
 */
export function scanMessage(message: Buffer, interest: Interest, options: ScanOptions = {}): ScanResult {
  return scannedMessage(() => {
    const scanner = new JsonScanner(interest, options, true)
    scanner.push(message)
    const found = scanner.end()
    if (!scanner.isObject) throw new GatewayError('body_invalid', 'A message must be a JSON object.')
    return found
  })
}

/**
 * A scan of one message of a session, with its errors as the client is told them.
 * @throws GatewayError body_invalid, field_ambiguous
 */
function scannedMessage<T>(scan: () => T): T {
  try {
    return scan()
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error
    throw new GatewayError(error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid', error.message, {
      cause: error,
      ...(error.path === '' ? {} : { param: error.path }),
    })
  }
}

/** The length of strings that are no text: sound and pictures. */
export function encodedLength(scan: ScanResult, name: string): number {
  let length = 0
  for (const found of scan.findings) {
    if (found.name === name && found.type === 'string') length += found.end - found.start - 2
  }
  return length
}

/** The bytes that so much base64 stands for. */
export function decodedLength(length: number): number {
  return Math.floor((length * 3) / 4)
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
