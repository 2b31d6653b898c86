import { JsonScanError, JsonScanner, scanJson, type Finding, type Interest } from '../http/json-scan.ts'
import { EventSplitter, readEvent } from '../http/event-splitter.ts'
import { EventShapes } from './event-shapes.ts'
import { visitInterest, type ShapeSink } from './event-shape.ts'

/** The format of a response's bytes. */
type Framing = 'unknown' | 'events' | 'document' | 'opaque'

/** Receives the values in the bytes. */
export interface ValueSink extends ShapeSink {
  /**
   * Reports a value of interest. A text that was not kept is reported by its type alone, with its length in the
   * document; if the value itself is passed, `textBytes` is -1. `source` is the value's text or the event that contains
   * it; for a text that was not kept, its bytes without their quotes, or empty if they came in several chunks.
   */
  onFound(name: string, value: unknown, textBytes: number, source: string | Buffer): void
  /** @returns whether the name and data of similar events need not be reported */
  onEvent(event: string, data: Buffer): boolean
  /** Everything in the event has been reported. */
  onEventEnd(): void
  onUnreadable(): void
}

/** Longer events are skipped. */
const eventBytesMax = 32 * 1_048_576
/** Larger events, such as a whole image, are scanned instead of parsed. */
const parsedEventBytesMax = 262_144
const scanOptions = { rejectDuplicates: false, findingsMax: 1_000_000 }
/** An event is scanned in one go while other exchanges wait: one with more findings than this is not read. */
const eventScanOptions = { ...scanOptions, findingsMax: 10_000 }
const noBytes = Buffer.alloc(0)
const openBrace = 0x7b
const openBracket = 0x5b
const byteOrderMark = Buffer.from('efbbbf', 'hex')
/** Audio and images may begin with any byte. */
const productType = /^(?:audio|image|video)\//
/** The start of a line of an event stream; a comment begins with the colon. */
const eventField = /^(?:data|event|id|retry)?:/
const eventFieldBytesMax = 6

/**
 * Reads a response as an event stream or as one JSON document, whichever it turns out to be: providers send blank lines
 * before a document to keep the connection alive, and errors as bare JSON in place of events.
 */
export class ResponseBytes {
  readonly #interest: Interest
  readonly #contentType: string
  readonly #sink: ValueSink
  readonly #visit = (name: string, value: unknown): void => this.#sink.onFound(name, value, -1, this.#event)
  #event: Buffer = Buffer.alloc(0)
  framing: Framing = 'unknown'
  /** The document contains several responses one after another. */
  isList = false
  /** First bytes from which the format is not known yet. */
  #beginning: Buffer = noBytes
  #events: EventSplitter | undefined
  readonly #shapes: EventShapes
  #scanner: JsonScanner | undefined
  /** The position of the current chunk in the document. */
  #chunkStart = 0

  constructor(contentType: string, interest: Interest, sink: ValueSink) {
    this.#contentType = contentType
    this.#interest = interest
    this.#sink = sink
    this.#shapes = new EventShapes(interest)
  }

  push(chunk: Buffer): void {
    if (this.framing === 'unknown') this.#begin(chunk, false)
    else this.#read(chunk)
  }

  /** True if the bytes were a complete document. */
  end(): boolean {
    if (this.framing === 'unknown') this.#begin(noBytes, true)
    this.#events?.end()
    return this.#scanner !== undefined && this.#endDocument(this.#scanner)
  }

  #begin(chunk: Buffer, isAll: boolean): void {
    const begun = this.#beginning.length === 0 ? chunk : Buffer.concat([this.#beginning, chunk])
    const start = contentStart(begun)
    const bytes = start === 0 ? begun : begun.subarray(start)
    this.framing = framingOf(bytes, this.#contentType, isAll)
    if (this.framing === 'unknown') {
      this.#beginning = Buffer.from(bytes)
      return
    }
    this.#beginning = noBytes
    this.isList = bytes[0] === openBracket
    if (this.framing === 'document') this.#scanner = new JsonScanner(this.#interest, scanOptions)
    if (this.framing === 'events') this.#events = new EventSplitter(this, eventBytesMax)
    this.#read(bytes)
  }

  #read(chunk: Buffer): void {
    if (this.#events !== undefined) this.#readEvents(this.#events, chunk)
    else if (this.framing === 'document' && this.#scanner !== undefined) {
      this.#readDocument(this.#scanner, chunk)
    }
  }

  #readEvents(events: EventSplitter, chunk: Buffer): void {
    const start = events.isBetweenEvents ? this.#shapes.read(chunk, this.#sink) : 0
    if (start < chunk.length) events.push(start === 0 ? chunk : chunk.subarray(start))
  }

  #readDocument(scanner: JsonScanner, chunk: Buffer): void {
    try {
      scanner.push(chunk)
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      // The client still gets the provider's bytes, and the findings so far still count.
      this.#sink.onUnreadable()
      this.framing = 'opaque'
    }
    this.#takeFindings(scanner.takeEnded(), chunk, this.#chunkStart)
    this.#chunkStart += chunk.length
  }

  #endDocument(scanner: JsonScanner): boolean {
    try {
      scanner.end()
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      return false
    }
    this.#takeFindings(scanner.takeEnded(), noBytes, this.#chunkStart)
    return true
  }

  onEvent(bytes: Buffer): void {
    const event = readEvent(bytes)
    if (event === undefined) return
    const { name, data } = event
    const isUsual = this.#sink.onEvent(name, data)
    if (data[0] !== openBrace) return
    try {
      if (data.length > parsedEventBytesMax) {
        this.#takeFindings(scanJson(data, this.#interest, eventScanOptions).findings, data, 0)
      } else {
        this.#event = data
        visitInterest(JSON.parse(data.toString('utf8')), this.#interest, this.#visit)
        if (isUsual) this.#shapes.learn(bytes, event)
      }
    } catch (error) {
      if (!(error instanceof JsonScanError || error instanceof SyntaxError)) throw error
      this.#sink.onUnreadable()
    }
    this.#sink.onEventEnd()
  }

  onLongEvent(): void {
    this.#sink.onUnreadable()
  }

  /** Reports complete values, in document order. */
  #takeFindings(findings: readonly Finding[], chunk: Buffer, chunkStart: number): void {
    for (const finding of findings) {
      const { name, type, raw } = finding
      if (raw !== undefined) {
        const text = raw.toString('utf8')
        this.#sink.onFound(name, JSON.parse(text), -1, text)
      } else if (type !== 'null' && type !== 'false') {
        this.#sink.onFound(name, type, textBytesIn(finding), bytesIn(finding, chunk, chunkStart))
      }
    }
  }
}

function bytesIn({ type, start, end }: Finding, chunk: Buffer, chunkStart: number): Buffer {
  if (start < chunkStart || (type !== 'string' && type !== 'object')) return noBytes
  const quote = type === 'string' ? 1 : 0
  return chunk.subarray(start - chunkStart + quote, end - chunkStart - quote)
}

/** The arguments of a tool are text too, and some responses have them as objects. */
function textBytesIn(finding: Finding): number {
  if (finding.type === 'string') return finding.end - finding.start - 2
  return finding.type === 'object' ? finding.end - finding.start : 0
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** After a byte order mark, and after blanks. */
function contentStart(bytes: Buffer): number {
  let start = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  while (start < bytes.length && isBlank(bytes[start])) start += 1
  return start
}

/** `unknown` while more bytes may decide. */
function framingOf(bytes: Buffer, contentType: string, isAll: boolean): Framing {
  const [first] = bytes
  if (first === undefined) return 'unknown'
  if (productType.test(contentType)) return 'opaque'
  if (first === openBrace || first === openBracket) return 'document'
  const isMarkCut = bytes.equals(byteOrderMark.subarray(0, bytes.length))
  if (isMarkCut && !isAll) return 'unknown'
  if (contentType === 'text/event-stream') return 'events'
  if (eventField.test(bytes.toString('latin1', 0, eventFieldBytesMax))) return 'events'
  return bytes.length < eventFieldBytesMax && !isAll ? 'unknown' : 'opaque'
}
