import { JsonScanError, JsonScanner, scanJson } from '../http/json-scan.ts'
import type { Finding, Interest } from '../http/json-scan.ts'
import { SseParser } from '../http/sse.ts'
import { visitInterest } from './visit-interest.ts'

/** What the bytes of an answer turn out to be. */
type Framing = 'unknown' | 'events' | 'document' | 'opaque'

interface AnswerSink {
  /**
   * A value of interest. Texts that were not kept are told by their type alone, with their length in the
   * document; where the value itself is here, `textBytes` is -1. `source` is the value's text or the event
   * it stands in; of a text that was not kept, its bytes without their quotes, or empty when they came in
   * several chunks.
   */
  onFound(name: string, value: unknown, textBytes: number, source: string | Buffer): void
  onEvent(event: string, data: Buffer): void
  /** Everything in the event has been handed over. */
  onEventEnd(): void
  onUnreadable(): void
}

/** Larger events, such as a whole picture, are scanned instead of parsed. */
const parsedEventBytesMax = 262_144
const scanOptions = { rejectDuplicates: false, findingsMax: 1_000_000 }
const noBytes = Buffer.alloc(0)
const openBrace = 0x7b
const openBracket = 0x5b

/**
 * Reads an answer as an event stream or as one JSON document, whichever it turns out to be: providers send
 * blank lines before a document to keep the connection alive, and errors as bare JSON where events were
 * promised.
 */
export class AnswerBytes {
  readonly #interest: Interest
  readonly #isEventStream: boolean
  readonly #sink: AnswerSink
  readonly #visit = (name: string, value: unknown): void => this.#sink.onFound(name, value, -1, this.#event)
  #event: Buffer = Buffer.alloc(0)
  #framing: Framing = 'unknown'
  #events: SseParser | undefined
  #scanner: JsonScanner | undefined
  #findingsTaken = 0
  /** Where the chunk under way begins in the document. */
  #chunkStart = 0

  constructor(contentType: string, interest: Interest, sink: AnswerSink) {
    this.#isEventStream = contentType === 'text/event-stream'
    this.#interest = interest
    this.#sink = sink
  }

  get framing(): Framing {
    return this.#framing
  }

  push(chunk: Buffer): void {
    if (this.#framing === 'unknown') this.#begin(chunk)
    else this.#read(chunk)
  }

  /** True when the bytes were a document and it was whole. */
  end(): boolean {
    this.#events?.end()
    if ((this.#events?.oversizedCount ?? 0) > 0) this.#sink.onUnreadable()
    return this.#scanner !== undefined && this.#endDocument(this.#scanner)
  }

  #begin(chunk: Buffer): void {
    let start = 0
    while (start < chunk.length && isBlank(chunk[start])) start += 1
    if (start === chunk.length) return
    const first = chunk[start]
    if (first === openBrace || first === openBracket) {
      this.#framing = 'document'
      this.#scanner = new JsonScanner(this.#interest, scanOptions)
    } else if (this.#isEventStream || startsLikeEvent(first)) {
      this.#framing = 'events'
      this.#events = new SseParser((event, data) => this.#readEvent(event, data))
    } else this.#framing = 'opaque'
    this.#read(start === 0 ? chunk : chunk.subarray(start))
  }

  #read(chunk: Buffer): void {
    if (this.#events !== undefined) this.#events.push(chunk)
    else if (this.#framing === 'document' && this.#scanner !== undefined) {
      this.#readDocument(this.#scanner, chunk)
    }
  }

  #readDocument(scanner: JsonScanner, chunk: Buffer): void {
    try {
      scanner.push(chunk)
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      // The client gets the provider's bytes all the same; what was found so far still counts.
      this.#sink.onUnreadable()
      this.#framing = 'opaque'
    }
    this.#findingsTaken = this.#takeFindings(scanner.findings, this.#findingsTaken, chunk, this.#chunkStart)
    this.#chunkStart += chunk.length
  }

  #endDocument(scanner: JsonScanner): boolean {
    try {
      scanner.end()
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      return false
    }
    this.#takeFindings(scanner.findings, this.#findingsTaken, noBytes, this.#chunkStart)
    return true
  }

  #readEvent(event: string, data: Buffer): void {
    this.#sink.onEvent(event, data)
    if (data[0] !== openBrace) return
    try {
      if (data.length > parsedEventBytesMax) {
        this.#takeFindings(scanJson(data, this.#interest, scanOptions).findings, 0, data, 0)
      } else {
        this.#event = data
        visitInterest(JSON.parse(data.toString('utf8')), this.#interest, this.#visit)
      }
    } catch (error) {
      if (!(error instanceof JsonScanError || error instanceof SyntaxError)) throw error
      this.#sink.onUnreadable()
    }
    this.#sink.onEventEnd()
  }

  /** Hands over what is complete, in the order of the document, and tells how far it came. */
  #takeFindings(findings: readonly Finding[], from: number, chunk: Buffer, chunkStart: number): number {
    let index = from
    for (; index < findings.length; index += 1) {
      const finding = findings[index]
      if (finding === undefined || finding.end === -1) break
      const { name, type, raw } = finding
      if (raw !== undefined) {
        const text = raw.toString('utf8')
        this.#sink.onFound(name, JSON.parse(text), -1, text)
      } else if (type !== 'null' && type !== 'false') {
        this.#sink.onFound(name, type, textBytesIn(finding), bytesIn(finding, chunk, chunkStart))
      }
    }
    return index
  }
}

function bytesIn({ type, start, end }: Finding, chunk: Buffer, chunkStart: number): Buffer {
  if (start < chunkStart || (type !== 'string' && type !== 'object')) return noBytes
  const quote = type === 'string' ? 1 : 0
  return chunk.subarray(start - chunkStart + quote, end - chunkStart - quote)
}

/** The arguments of a tool are text too, and some answers have them as objects. */
function textBytesIn(finding: Finding): number {
  if (finding.type === 'string') return finding.end - finding.start - 2
  return finding.type === 'object' ? finding.end - finding.start : 0
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** `data:`, `event:`, `id:`, `retry:`, a comment or a byte order mark. */
function startsLikeEvent(byte: number | undefined): boolean {
  return byte === 0x64 || byte === 0x65 || byte === 0x69 || byte === 0x72 || byte === 0x3a || byte === 0xef
}
