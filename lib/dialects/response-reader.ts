import { isDeepStrictEqual } from 'node:util'
import type { Interest } from '../http/json-scan.ts'
import type {
  JobSighting,
  Meters,
  NamedObject,
  ObjectFacts,
  ObjectKind,
  UsageLine,
  UsageReading,
} from '../money/usage.ts'
import { ResponseBytes, type ValueSink } from './response-bytes.ts'
import type { HeadFacts, UsageReader, UsageReaderContext } from './dialect.ts'
import { objectNamed } from './named-objects.ts'
import {
  addUsed,
  countsNothing,
  drawnTokens,
  KeptUsages,
  spokenTokensPerSecond,
  UsageFields,
  isZero,
  searchesApart,
  type ResponseMeasure,
} from './measure.ts'
import { TextSample } from './text-sample.ts'

/** The base64 length of a second of raw audio: 24,000 samples of two bytes, and four characters for three bytes. */
const encodedPerSecond = (48_000 / 3) * 4

/** A use of a tool may cost more than any text: the code that maintains the hold should check it at once. */
const toolProgress = 65_536

/**
 * Collects what an operation's interest finds in a response. Subclasses know what the values mean. Names with the same
 * meaning everywhere: `usage...` (objects), `model`, `tier`, `id`, `error`, `text` (generated), `output` (other signs
 * of output), `drawn`, `audio` and `media` (output beside text; the `mediaType` before it tells which), `requestId`
 * (the provider's id of the request).
 */
export class ResponseReader implements UsageReader, ValueSink {
  protected readonly context: UsageReaderContext
  protected readonly flags = new Set<string>()
  protected tier: string | undefined
  protected hasError = false
  protected hasOutput = false
  /** The provider does not bill this response, so zero usage is expected. */
  protected isFree = false
  /** Uses of tools that the provider runs, each reported while it happens. */
  protected toolUses = 0
  protected model: string | undefined
  #providerRequestId: string | undefined
  /** The id of the object that the response is about; empty until it is reported. */
  protected objectId = ''
  readonly #bytes: ResponseBytes
  readonly #usages: KeptUsages
  readonly #objectKind: ObjectKind | undefined
  readonly #namedIds = new Set<string>()
  #objects: NamedObject[] = []
  isTerminal = false
  readonly #sample = new TextSample()
  #outputTextBytes = 0
  /** The length of the text before the last reported usage. */
  #meteredTextBytes = 0
  #hasToldUsage = false
  #mediaType = ''
  /** The tokens of images so far, and the encoded length of audio. */
  #imageTokens = 0
  #encodedAudio = 0

  constructor(head: HeadFacts, context: UsageReaderContext, interest: Interest, objectKind?: ObjectKind) {
    this.context = context
    this.#objectKind = objectKind
    this.#usages = new KeptUsages(interest)
    this.tier = head.servedTier
    this.#bytes = new ResponseBytes(head.contentType, interest, this)
  }

  /** A document's usage covers the whole document, wherever it is. */
  get #unmeteredTextBytes(): number {
    if (this.#hasToldUsage && this.#bytes.framing !== 'events') return 0
    return this.#outputTextBytes - this.#meteredTextBytes
  }

  get progress(): number {
    return this.#outputTextBytes + this.toolUses * toolProgress
  }

  push(chunk: Buffer): void {
    this.#bytes.push(chunk)
    // Bytes that are neither events nor JSON are the product itself, such as audio.
    if (this.#bytes.framing === 'opaque') this.hasOutput = true
  }

  takeObjects(): readonly NamedObject[] {
    const objects = this.#objects
    if (objects.length > 0) this.#objects = []
    return objects
  }

  peek(): UsageReading {
    const flags = [...this.flags]
    const reading = this.#read(undefined)
    // An irregularity in the middle of a response may be resolved by its end.
    this.flags.clear()
    for (const flag of flags) this.flags.add(flag)
    return reading
  }

  end(): UsageReading {
    if (this.#bytes.end()) this.isTerminal = true
    if (this.#bytes.framing === 'opaque') this.hasOutput = true
    const raw = this.#usages.text()
    if (this.#usages.hasFallen) this.flags.add('usage_decreased')
    if (this.#usages.isTwice) this.flags.add('usage_inconsistent')
    return this.#read(raw)
  }

  /** @param raw the reported usage, as the provider sent it */
  #read(raw: string | undefined): UsageReading {
    const { lines: told, details } = this.measure()
    const lines = searchesApart(told)
    const isOdd = lines.length > 0 && isZero(lines) && this.isTerminal && !this.hasError && !this.isFree
    if (isOdd) this.flags.add('usage_zero')
    const sample = this.#unmeteredTextBytes > 0 ? this.#sample.text : undefined
    const kind = this.objectId === '' ? undefined : this.#objectKind
    const state = kind && this.jobState(lines.length > 0)
    return {
      lines,
      ...(raw !== undefined && { raw }),
      ...(Object.keys(details).length > 0 && { details }),
      isTerminal: this.isTerminal,
      hasError: this.hasError,
      hasOutput: this.hasOutput,
      outputTextBytes: this.#outputTextBytes,
      unmeteredTextBytes: this.#unmeteredTextBytes,
      ...(sample !== undefined && { textSample: sample }),
      ...(this.toolUses > 0 && { toolUses: this.toolUses }),
      ...(this.model !== undefined && { model: this.model }),
      ...(this.#providerRequestId !== undefined && { providerRequestId: this.#providerRequestId }),
      ...(this.servedTier !== undefined && { tier: this.servedTier }),
      ...(isZero(lines) && this.madeBeside.length > 0 && { beside: this.madeBeside }),
      flags: [...this.flags],
      ...(kind !== undefined && state !== undefined && { job: { kind, id: this.objectId, ...state } }),
    }
  }

  /** The usage so far: none for a response that is read for other reasons. */
  protected measure(): ResponseMeasure {
    return { lines: [], details: {} }
  }

  /** The tier that the response itself names, outside its usage. */
  protected get servedTier(): string | undefined {
    return undefined
  }

  /** The output beside text that the response shows. */
  protected get madeBeside(): readonly UsageLine[] {
    const meters = this.#made
    return isZero([{ meters }]) ? [] : [{ meters }]
  }

  get #made(): Meters {
    const meters: Meters = {}
    addUsed(meters, 'imageOutput', this.#imageTokens)
    addUsed(meters, 'audioOutput', Math.ceil((this.#encodedAudio * spokenTokensPerSecond) / encodedPerSecond))
    return meters
  }

  /** Corrects a count that is not the final one: output that has arrived is not text, and is at least this large. */
  protected addMade(meters: Meters): void {
    if (this.isTerminal) return
    const { imageOutput = 0, audioOutput = 0 } = this.#made
    this.#addMade(meters, 'imageOutput', imageOutput, 'drawing_uncounted')
    this.#addMade(meters, 'audioOutput', audioOutput, 'speech_measured')
  }

  #addMade(meters: Meters, meter: 'imageOutput' | 'audioOutput', tokens: number, flag: string): void {
    const missing = tokens - (meters[meter] ?? 0)
    if (missing <= 0) return
    meters[meter] = tokens
    meters.output = Math.max(0, (meters.output ?? 0) - missing)
    this.flags.add(flag)
  }

  #takeMade(name: string, encodedLength: number): void {
    this.hasOutput = true
    const isAudio = name === 'audio' || (name === 'media' && this.#mediaType.startsWith('audio'))
    if (isAudio) this.#encodedAudio += encodedLength
    else this.#imageTokens += drawnTokens
  }

  /** The state of the job that the response is about; undefined without a job that continues after it. */
  protected jobState(_hasUsage: boolean): Omit<JobSighting, 'kind' | 'id'> | undefined {
    return undefined
  }

  /** A value under a name that only the operation knows. */
  protected onValue(_name: string, _value: unknown): void {}

  /** Called for each usage object; a later one may replace it. */
  protected onUsage(_name: string, _value: object): void {}

  /** Whether this event is the last one. */
  protected isLastEvent(_event: string, _data: Buffer): boolean {
    return false
  }

  /** A document ends where its JSON ends, whatever its members say. */
  protected markTerminal(): void {
    if (this.#bytes.framing === 'events') this.isTerminal = true
  }

  /** The last usage object under this name; undefined if there is none. */
  protected usage(name = 'usage'): UsageFields | undefined {
    const value = this.#usages.get(name)
    return value === undefined ? undefined : new UsageFields(value, this.flags)
  }

  protected nameObject(kind: ObjectKind, id: unknown, facts?: ObjectFacts): void {
    if (typeof id !== 'string' || id === '' || this.#namedIds.has(id)) return
    this.#namedIds.add(id)
    this.#objects.push({ kind, id, ...(facts !== undefined && { facts }) })
  }

  /** Usage covers the text of its own event too, in either order. */
  onEventEnd(): void {
    if (!this.#hasToldUsage) return
    this.#meteredTextBytes = this.#outputTextBytes
    this.#hasToldUsage = false
  }

  onUnreadable(): void {
    this.flags.add('answer_unreadable')
  }

  onEvent(event: string, data: Buffer): boolean {
    const isLast = this.isLastEvent(event, data)
    if (event === 'error') this.hasError = true
    if (isLast) this.isTerminal = true
    return !isLast && event !== 'error'
  }

  onText(event: Buffer, start: number, end: number): void {
    if (end === start) return
    this.#sample.addBytes(event, start, end)
    this.#outputTextBytes += end - start
    this.hasOutput = true
  }

  onFound(name: string, value: unknown, textBytes: number, source: string | Buffer): void {
    if (value === null || value === undefined) return
    if (name === 'text') {
      if (typeof value !== 'string') return
      const bytes = textBytes === -1 ? this.#sample.add(value) : textBytes
      if (textBytes > 0 && typeof source !== 'string') this.#sample.addEscaped(source)
      this.#outputTextBytes += bytes
      if (bytes > 0) this.hasOutput = true
    } else if (name === 'output') {
      this.hasOutput = true
    } else if (name === 'drawn' || name === 'audio' || name === 'media') {
      const isHere = textBytes === -1 && typeof value === 'string'
      this.#takeMade(name, isHere ? value.length : Math.max(0, textBytes))
    } else if (name === 'mediaType') {
      if (typeof value === 'string') this.#mediaType = value
    } else if (name === 'error') {
      this.hasError = true
    } else if (name === 'model') {
      if (typeof value === 'string' && value !== '') this.model = value
    } else if (name === 'requestId') {
      if (typeof value === 'string') this.#providerRequestId = value
    } else if (name === 'tier') {
      if (typeof value === 'string') this.tier = value
    } else if (name === 'id') {
      if (this.#objectKind === undefined) return
      if (typeof value === 'string') this.objectId = value
      this.nameObject(this.#objectKind, value)
    } else if (name.startsWith('usage')) {
      if (typeof value !== 'object') return
      // A usage without counts covers no text.
      if (!countsNothing(value)) this.#hasToldUsage = true
      this.onUsage(name, value)
      const before =
        this.#bytes.framing === 'document' && !this.#bytes.isList ? this.#usages.get(name) : undefined
      if (before !== undefined && !isDeepStrictEqual(before, value)) this.flags.add('usage_inconsistent')
      this.#usages.keep(name, value, source)
    } else {
      const object = objectNamed(name, value)
      if (object === undefined) this.onValue(name, value)
      else this.nameObject(object.kind, object.id)
    }
  }
}
