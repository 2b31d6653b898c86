import type { UploadWatcher } from '../http/upload-watcher.ts'
import type { RequestFacts, JsonPartsReader, Operation } from '../dialects/dialect.ts'
import { type RequestBody, memoryBody } from '../bodies/outgoing-body.ts'
import type { Bodies, KeptFindings, ReceivedBody } from '../bodies/bodies.ts'
import { StreamedBody } from '../bodies/client-stream.ts'
import type { Limits } from '../config/config.ts'
import type { Route } from './route.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { IncomingMessage } from 'node:http'
import type { BodyScan } from '../bodies/turns.ts'
import { inTextName } from '../dialects/named-objects.ts'
import { mediaSteps } from '../dialects/read-media.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { JsonScanner, type ScanResult } from '../http/json-scan.ts'
import { FormScan, refused, unknownFacts, type Found } from './scan-form.ts'
import { isUtf8 } from 'node:buffer'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The result of the scan of the body. */
    request: RequestFacts
    /** Releases the memory and the files of `body` and `content`. */
    receivedBody: { close(): void }
    /** The request's body as received; absent where it streams through. */
    body: RequestBody
    /** The body with its content-encoding decoded, the same where it has none: the offsets of `request` refer to it. */
    content: RequestBody
    /** The body of an upload that streams through. */
    upload: StreamedBody
    /** The operation's watcher of the upload. */
    uploadWatcher: UploadWatcher
  }
}

/**
 * Receives a request's body: it is scanned as it arrives and stored within the limits or, where its operation needs
 * nothing from it, left with the client until the provider reads it. Sets the facts of the body.
 * @throws GatewayError body_too_large, overloaded, body_invalid, field_ambiguous and the like
 */
export function receiveRequest(
  bodies: Bodies,
  exchange: Exchange,
  route: Route,
  limits: Limits,
): ScannedRequest | Promise<ScannedRequest> {
  const { request, response } = exchange
  const { operation } = route.match
  if (operation.body === 'streamed' && hasBody(exchange)) return stream(exchange, route, limits)
  const foldUnderscores = route.dialect.name === 'google'
  const isScanned = route.ownEndpoint === undefined
  const received = bodies.receive(request, response, {
    bytesMax: limits.bodyBytesMax,
    memoryBytesMax: limits.bodyMemoryBytes,
    timeMs: limits.bodyMs,
    scan: (isWhole, isEmpty, kept) =>
      isScanned ? beginScan(operation, request, isEmpty, { foldUnderscores, isWhole, kept }) : undefined,
  })
  return received.then(whole => {
    exchange.set('receivedBody', whole)
    exchange.set('body', whole.body)
    exchange.set('content', whole.content)
    return scannedRequest(whole)
  })
}

/**
 * Scans a body that was received before as a body for another route.
 * @throws GatewayError as `receiveRequest`
 */
export async function scanAgain(bodies: Bodies, exchange: Exchange, route: Route): Promise<ScannedRequest> {
  const body = exchange.get('body')
  const content = exchange.get('content')
  const foldUnderscores = route.dialect.name === 'google'
  const scan = beginScan(route.match.operation, exchange.request, content.length === 0, {
    foldUnderscores,
    isWhole: false,
  })
  const found = scan === undefined ? undefined : await bodies.scan(content, scan)
  return scannedRequest({ body, content, found })
}

function stream(exchange: Exchange, route: Route, { bodyMs }: Limits): ScannedRequest {
  const { request, response } = exchange
  const { headers, rawHeaders } = request
  const upload = new StreamedBody(request, response, bodyMs)
  const watcher = route.match.operation.watchUpload?.({
    contentType: headers['content-type'] ?? '',
    contentEncoding: headers['content-encoding'] ?? '',
    contentLength: upload.length,
    headers: rawHeaders,
  })
  if (watcher !== undefined) {
    upload.watch(watcher)
    exchange.set('uploadWatcher', watcher)
  }
  exchange.set('upload', upload)
  return streamedRequest(upload)
}

function hasBody({ request: { headers } }: Exchange): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Far more images, files and tools than any provider accepts in one request; each uses some memory. */
const findingsMax = 20_000

/** The findings of a body, and their offsets. */
export interface ScannedRequest extends Found {
  /** As received, or as it will be received. */
  readonly body: RequestBody | StreamedBody
  /** With its content-encoding decoded; the facts' offsets refer to it. */
  readonly content: RequestBody
}

interface ScanOptions {
  /** Google accepts `max_tokens` and `maxTokens` as one field. */
  readonly foldUnderscores: boolean
  /** The body comes as one chunk, which outlives the facts. */
  readonly isWhole: boolean
  /** Called with the total memory that the findings use; throws when that is too much. */
  readonly kept?: KeptFindings
}

/** The memory of a finding with its path, its value and the facts made of it. */
const findingBytes = 1024
/** Below this count, findings cost next to nothing. */
const uncountedFindings = 256

/** A character has at most four bytes, so at most three bytes of an incomplete one end a chunk. */
const restBytesMax = 3

/** Refuses text that is not UTF-8: some parsers drop invalid bytes, and then find another key than the scan did. */
class Utf8Check {
  /** The start of a character that is split between two chunks. */
  #rest: Buffer = Buffer.alloc(0)

  /** @throws GatewayError body_invalid */
  push(chunk: Buffer): void {
    if (this.#rest.length === 0 && isUtf8(chunk)) return
    const text = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = endOfWholeCharacters(text)
    if (!isUtf8(text.subarray(0, end))) throw notUtf8()
    this.#rest = Buffer.from(text.subarray(end))
  }

  /** @throws GatewayError body_invalid where the text ends in the middle of a character */
  end(): void {
    if (this.#rest.length > 0) throw notUtf8()
  }
}

/**
 * Starts a scan that finds what the gates need in a request's body, without changing it; undefined where the body is
 * forwarded without a scan.
 * @throws GatewayError body_invalid, field_ambiguous and the like, with the path of the part; so does the scan
 */
export function beginScan(
  operation: Operation,
  { headers, method }: IncomingMessage,
  isEmpty: boolean,
  options: ScanOptions,
): BodyScan<Found> | undefined {
  if (operation.body === 'none' || (isEmpty && method !== 'POST')) return undefined
  const contentType = headers['content-type'] ?? ''
  const isMultipart = /^multipart\/form-data/i.test(contentType)
  if (operation.factsFromMultipart !== undefined && (isMultipart || operation.factsFromJson === undefined))
    return new FormScan(operation, contentType)
  const isRead = operation.factsFromJson !== undefined || operation.readJsonParts !== undefined
  if (!isRead || operation.interest === undefined) return undefined
  // A body that is not scanned could name any model and any account's files.
  if (isMultipart) {
    const message = 'The body must be sent as JSON, with content-type: application/json.'
    throw new GatewayError('body_invalid', message, { param: 'content-type' })
  }
  requireJson(contentType)
  return new JsonScan(operation, options)
}

/**
 * A provider may decode a form, protocol buffers or UTF-16 by the content-type, where the scan has read JSON in UTF-8.
 * @throws GatewayError media_type
 */
function requireJson(contentType: string): void {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const isJson = /^[ \t]*(?:application\/(?:[\w.-]+\+)?json|text\/json)?[ \t]*$/.test(type)
  if (isJson && parameters.every(isUtf8Parameter)) return
  throw new GatewayError(
    'media_type',
    `The body must be JSON in UTF-8, with content-type: application/json; this one says ${JSON.stringify(contentType.slice(0, 128))}.`,
    { param: 'content-type' },
  )
}

function isUtf8Parameter(parameter: string): boolean {
  return (
    !/charset/.test(parameter) || /^[ \t]*charset[ \t]*=[ \t]*"?(?:utf-?8|us-ascii)"?[ \t]*$/.test(parameter)
  )
}

/** A body and the result of its scan; for a body that was not scanned, nothing is known. */
function scannedRequest({ body, content, found }: Omit<ReceivedBody<Found>, 'close'>): ScannedRequest {
  const { facts, isForm } = found ?? { facts: unknownFacts(content.length), isForm: false }
  return { facts, isForm, body, content }
}

/** An upload that streams through: nothing is known about it in advance. */
function streamedRequest(body: StreamedBody): ScannedRequest {
  return { facts: unknownFacts(0), isForm: false, body, content: memoryBody(Buffer.alloc(0)) }
}

class JsonScan implements BodyScan<Found> {
  readonly #operation: Operation
  readonly #scanner: JsonScanner
  readonly #parts: JsonPartsReader | undefined
  readonly #kept: ScanOptions['kept']
  /** Set where a chunk ends inside a character, or is not UTF-8. */
  #utf8: Utf8Check | undefined
  #length = 0
  /** Set by `prepareEnd`. */
  #found: ScanResult | undefined

  constructor(operation: Operation, { foldUnderscores, isWhole, kept }: ScanOptions) {
    this.#operation = operation
    this.#kept = kept
    this.#parts = operation.readJsonParts?.()
    this.#scanner = new JsonScanner(
      operation.interest ?? {},
      { foldUnderscores, findingsMax, countsText: true, fileIdsAs: inTextName },
      isWhole,
    )
  }

  push(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#utf8 !== undefined || !isUtf8(chunk)) {
      this.#utf8 ??= new Utf8Check()
      this.#utf8.push(chunk)
    }
    try {
      this.#scanner.push(chunk)
      this.#parts?.take(this.#scanner.takeWhole(this.#parts.partName))
    } catch (error) {
      throw refused(error)
    }
    this.#kept?.keep(Math.max(0, this.#scanner.findings.length - uncountedFindings) * findingBytes)
  }

  *prepareEnd(): Generator<undefined, void> {
    if (this.#parts !== undefined || this.#scanner.findings.length < uncountedFindings) return
    try {
      const found = this.#scanner.end()
      this.#found = { ...found, media: yield* mediaSteps(found) }
    } catch (error) {
      throw refused(error)
    }
  }

  end(): Found {
    this.#utf8?.end()
    try {
      const found = this.#found ?? this.#scanner.end()
      if (!this.#scanner.isObject)
        throw new GatewayError('body_invalid', 'The body must be a JSON object, {"model": ...}.')
      const body = { length: this.#length }
      const facts = this.#parts?.end(found, body) ?? this.#operation.factsFromJson?.(found, body)
      return { facts: facts ?? unknownFacts(this.#length), isForm: false }
    } catch (error) {
      throw refused(error)
    }
  }
}

/** The offset of the last character if it may be incomplete; else the end. */
function endOfWholeCharacters(text: Buffer): number {
  for (let back = 1; back <= Math.min(restBytesMax, text.length); back += 1) {
    const byte = text[text.length - back] as number
    if (byte < 0x80) return text.length
    // The high bits of a character's first byte give its length.
    if (byte >= 0xc0) return back < bytesOfCharacter(byte) ? text.length - back : text.length
  }
  return text.length
}

function bytesOfCharacter(first: number): number {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
}

function notUtf8(): GatewayError {
  return new GatewayError(
    'body_invalid',
    'The body is not UTF-8. Send JSON in UTF-8 (RFC 8259, section 8.1).',
  )
}
