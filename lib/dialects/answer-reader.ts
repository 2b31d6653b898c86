import { JsonScanError, JsonScanner, scanJson } from '../http/json-scan.ts'
import type { Finding, Interest } from '../http/json-scan.ts'
import { SseParser } from '../http/sse.ts'
import type { NamedObject, ObjectKind, UsageReading } from '../money/usage.ts'
import type { AnswerHead, UsageReader, UsageReaderContext } from './dialect.ts'
import type { AnswerMeasure } from './measure.ts'
import { UsageFields } from './usage-fields.ts'
import { visitInterest } from './visit-interest.ts'

/** Larger events, such as a whole picture, are scanned instead of parsed. */
const parsedEventBytesMax = 262_144
const scanOptions = { rejectDuplicates: false, findingsMax: 1_000_000 }
const openBrace = 0x7b
const openBracket = 0x5b

type Framing = 'unknown' | 'events' | 'document' | 'opaque'

/**
 * Reads an answer as an event stream or as one JSON document, whichever it turns out to be, and gathers
 * what the operation's interest names. Subclasses know what the values mean. Names that mean the same
 * everywhere: `usage...` (objects), `model`, `tier`, `id`, `error`, `text` (generated), `output` (other
 * signs of it).
 */
export abstract class AnswerReader implements UsageReader {
  protected readonly context: UsageReaderContext
  protected readonly flags = new Set<string>()
  protected tier: string | undefined
  protected hasError = false
  protected hasOutput = false
  /** The provider bills nothing for this answer, so zero is no surprise. */
  protected isFree = false
  protected model: string | undefined
  readonly #interest: Interest
  readonly #isEventStream: boolean
  readonly #objectKind: ObjectKind | undefined
  /** The last usage object under each name: never added up, a later one replaces an earlier one. */
  readonly #usages = new Map<string, unknown>()
  readonly #rawUsages = new Map<string, string | Buffer>()
  readonly #namedIds = new Set<string>()
  readonly #visit = (name: string, value: unknown): void => this.#take(name, value, -1)
  #objects: NamedObject[] = []
  #framing: Framing = 'unknown'
  #isTerminal = false
  #outputTextBytes = 0
  #events: SseParser | undefined
  #scanner: JsonScanner | undefined
  #findingsTaken = 0
  /** Where the usage under way is from: its own text, or the event that it has to be cut out of. */
  #currentRaw: string | Buffer | undefined

  constructor(head: AnswerHead, context: UsageReaderContext, interest: Interest, objectKind?: ObjectKind) {
    this.context = context
    this.#interest = interest
    this.#isEventStream = head.contentType === 'text/event-stream'
    this.#objectKind = objectKind
  }

  get isTerminal(): boolean {
    return this.#isTerminal
  }

  push(chunk: Buffer): void {
    if (this.#framing === 'unknown') this.#begin(chunk)
    else this.#read(chunk)
  }

  takeObjects(): readonly NamedObject[] {
    const objects = this.#objects
    if (objects.length > 0) this.#objects = []
    return objects
  }

  end(): UsageReading {
    this.#events?.end()
    if ((this.#events?.oversizedCount ?? 0) > 0) this.flags.add('answer_unreadable')
    if (this.#scanner !== undefined) this.#endDocument(this.#scanner)
    const { lines, details } = this.measure()
    const isZero = lines.every(line => Object.values(line.meters).every(units => units === 0))
    const isOdd = isZero && lines.length > 0 && this.#isTerminal && !this.hasError && !this.isFree
    if (isOdd) this.flags.add('usage_zero')
    const raw = this.#rawUsage()
    return {
      lines,
      ...(raw !== undefined && { raw }),
      ...(Object.keys(details).length > 0 && { details }),
      isTerminal: this.#isTerminal,
      hasError: this.hasError,
      hasOutput: this.hasOutput,
      outputTextBytes: this.#outputTextBytes,
      ...(this.model !== undefined && { model: this.model }),
      flags: [...this.flags],
    }
  }

  /** What the usage comes to. Called once, at the end. */
  protected abstract measure(): AnswerMeasure

  /** A value under a name that is the operation's own. */
  protected onValue(_name: string, _value: unknown): void {}

  /** A usage object has come; a later one may replace it. */
  protected onUsage(_name: string, _value: object): void {}

  /** Whether this event says that nothing follows. */
  protected isLastEvent(_event: string, _data: Buffer): boolean {
    return false
  }

  /** A document ends where its JSON ends, whatever it says before. */
  protected markTerminal(): void {
    if (this.#framing === 'events') this.#isTerminal = true
  }

  /** The last usage object under this name; undefined when there was none. */
  protected usage(name = 'usage'): UsageFields | undefined {
    const value = this.#usages.get(name)
    return value === undefined ? undefined : new UsageFields(value, this.flags)
  }

  protected nameObject(kind: ObjectKind, id: unknown): void {
    if (typeof id !== 'string' || id === '' || this.#namedIds.has(id)) return
    this.#namedIds.add(id)
    this.#objects.push({ kind, id })
  }

  /** Keep-alive blank lines may come before a document; providers send bare JSON errors as event streams. */
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
      this.#events = new SseParser((event, data) => this.#onEvent(event, data))
    } else this.#framing = 'opaque'
    this.#read(start === 0 ? chunk : chunk.subarray(start))
  }

  #read(chunk: Buffer): void {
    if (this.#framing === 'events') this.#events?.push(chunk)
    else if (this.#framing === 'opaque') this.hasOutput ||= chunk.length > 0
    else this.#readDocument(chunk)
  }

  #readDocument(chunk: Buffer): void {
    const scanner = this.#scanner
    if (scanner === undefined) return
    try {
      scanner.push(chunk)
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      // The client gets the provider's bytes all the same; what was found so far still counts.
      this.flags.add('answer_unreadable')
      this.#framing = 'opaque'
    }
    this.#takeFindings(scanner.findings, this.#findingsTaken)
  }

  #endDocument(scanner: JsonScanner): void {
    try {
      scanner.end()
      this.#isTerminal = true
    } catch (error) {
      // Cut short: the head of the document may still name the model and the object.
      if (!(error instanceof JsonScanError)) throw error
    }
    this.#takeFindings(scanner.findings, this.#findingsTaken)
  }

  #onEvent(event: string, data: Buffer): void {
    if (event === 'error') this.hasError = true
    if (this.isLastEvent(event, data)) this.#isTerminal = true
    if (data[0] !== openBrace) return
    try {
      if (data.length > parsedEventBytesMax) {
        this.#takeFindings(scanJson(data, this.#interest, scanOptions).findings, 0)
        return
      }
      this.#currentRaw = data
      visitInterest(JSON.parse(data.toString('utf8')), this.#interest, this.#visit)
    } catch (error) {
      if (!(error instanceof JsonScanError || error instanceof SyntaxError)) throw error
      this.flags.add('answer_unreadable')
    }
    this.#currentRaw = undefined
  }

  #takeFindings(findings: readonly Finding[], from: number): void {
    let index = from
    for (; index < findings.length; index += 1) {
      const finding = findings[index]
      if (finding === undefined || finding.end === -1) break
      this.#takeFinding(finding)
    }
    if (this.#scanner !== undefined) this.#findingsTaken = index
  }

  #takeFinding(finding: Finding): void {
    if (finding.raw !== undefined) {
      const text = finding.raw.toString('utf8')
      this.#currentRaw = text
      this.#take(finding.name, JSON.parse(text), -1)
      this.#currentRaw = undefined
    } else if (finding.type !== 'null' && finding.type !== 'false') {
      this.#take(finding.name, finding.type, textBytesIn(finding))
    }
  }

  /** `textBytes` is -1 where the value itself tells. */
  #take(name: string, value: unknown, textBytes: number): void {
    if (value === null || value === undefined) return
    if (name === 'text') {
      if (typeof value !== 'string') return
      const bytes = textBytes === -1 ? Buffer.byteLength(value) : textBytes
      this.#outputTextBytes += bytes
      if (bytes > 0) this.hasOutput = true
    } else if (name === 'output') {
      this.hasOutput = true
    } else if (name === 'error') {
      this.hasError = true
    } else if (name === 'model') {
      if (typeof value === 'string' && value !== '') this.model = value
    } else if (name === 'tier') {
      if (typeof value === 'string') this.tier = value
    } else if (name === 'id') {
      if (this.#objectKind !== undefined) this.nameObject(this.#objectKind, value)
    } else if (name.startsWith('usage')) {
      if (typeof value === 'object') this.#keepUsage(name, value)
    } else this.onValue(name, value)
  }

  #keepUsage(name: string, value: object): void {
    this.onUsage(name, value)
    this.#usages.set(name, value)
    if (this.#currentRaw !== undefined) this.#rawUsages.set(name, this.#currentRaw)
  }

  #rawUsage(): string | undefined {
    const texts: string[] = []
    for (const [name, kept] of this.#rawUsages) {
      const text = typeof kept === 'string' ? kept : this.#cutOut(name, kept)
      texts.push(this.#rawUsages.size === 1 ? text : `${JSON.stringify(name)}:${text}`)
    }
    return texts.length > 1 ? `{${texts.join(',')}}` : texts[0]
  }

  #cutOut(name: string, event: Buffer): string {
    const { findings } = scanJson(event, this.#interest, scanOptions)
    const finding = findings.findLast(found => found.name === name && found.type === 'object')
    return finding?.raw?.toString('utf8') ?? ''
  }
}

/** The arguments of a tool are text too, and some answers have them as objects. */
function textBytesIn(finding: Finding): number {
  if (finding.type === 'string') return finding.end - finding.start - 2
  return finding.type === 'object' ? finding.end - finding.start : 0
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** `data:`, `event:`, `id:`, `retry:` or a comment. */
function startsLikeEvent(byte: number | undefined): boolean {
  return byte === 0x64 || byte === 0x65 || byte === 0x69 || byte === 0x72 || byte === 0x3a || byte === 0xef
}
