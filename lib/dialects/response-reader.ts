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

/** A second of audio without a container: 24,000 samples of two bytes, and four characters of base64 for three of those. */
const encodedPerSecond = (48_000 / 3) * 4

/** A use of a tool may cost more than any text: whoever holds for it should look at once. */
const toolProgress = 65_536

/**
 * Gathers what an operation's interest names in an answer. Subclasses know what the values mean. Names that
 * mean the same everywhere: `usage...` (objects), `model`, `tier`, `id`, `error`, `text` (generated),
 * `output` (other signs of it), `drawn`, `audio` and `media` (what was made beside text; the `mediaType` before it says which),
 * `requestId` (by which the provider knows the request).
 */
export class ResponseReader implements UsageReader, ValueSink {
  protected readonly context: UsageReaderContext
  protected readonly flags = new Set<string>()
  protected tier: string | undefined
  protected hasError = false
  protected hasOutput = false
  /** The provider bills nothing for this answer, so zero is no surprise. */
  protected isFree = false
  /** Uses of tools that the provider runs, each told while it is made. */
  protected toolUses = 0
  protected model: string | undefined
  #providerRequestId: string | undefined
  /** Of what the answer is about; empty until it is told. */
  protected objectId = ''
  readonly #bytes: ResponseBytes
  readonly #usages: KeptUsages
  readonly #objectKind: ObjectKind | undefined
  readonly #namedIds = new Set<string>()
  #objects: NamedObject[] = []
  isTerminal = false
  readonly #sample = new TextSample()
  #outputTextBytes = 0
  /** How much text had come when usage was last told. */
  #meteredTextBytes = 0
  #hasToldUsage = false
  #mediaType = ''
  /** Of images that have come, and the length of audio as it is encoded. */
  #imageTokens = 0
  #encodedAudio = 0

  constructor(head: HeadFacts, context: UsageReaderContext, interest: Interest, objectKind?: ObjectKind) {
    this.context = context
    this.#objectKind = objectKind
    this.#usages = new KeptUsages(interest)
    this.tier = head.servedTier
    this.#bytes = new ResponseBytes(head.contentType, interest, this)
  }

  /** A document's usage is of all of it, wherever it stands. */
  get #unmeteredTextBytes(): number {
    if (this.#hasToldUsage && this.#bytes.framing !== 'events') return 0
    return this.#outputTextBytes - this.#meteredTextBytes
  }

  get progress(): number {
    return this.#outputTextBytes + this.toolUses * toolProgress
  }

  push(chunk: Buffer): void {
    this.#bytes.push(chunk)
    // What is neither events nor JSON is the product itself, such as audio.
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
    // What is odd in the middle of an answer may be right at its end.
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

  /** @param raw what was told of usage, as the provider wrote it */
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

  /** What the usage comes to so far: nothing, of an answer that is read for other things. */
  protected measure(): ResponseMeasure {
    return { lines: [], details: {} }
  }

  /** The tier that the answer itself names, beside its usage. */
  protected get servedTier(): string | undefined {
    return undefined
  }

  /** What the answer shows to have been made beside its text. */
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

  /** Of a count that is not the last one yet, what has come is no text and no less than it was made of. */
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

  /** How the work stands that the answer is about; undefined where it is about none that goes on after it. */
  protected jobState(_hasUsage: boolean): Omit<JobSighting, 'kind' | 'id'> | undefined {
    return undefined
  }

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
    if (this.#bytes.framing === 'events') this.isTerminal = true
  }

  /** The last usage object under this name; undefined when there was none. */
  protected usage(name = 'usage'): UsageFields | undefined {
    const value = this.#usages.get(name)
    return value === undefined ? undefined : new UsageFields(value, this.flags)
  }

  protected nameObject(kind: ObjectKind, id: unknown, facts?: ObjectFacts): void {
    if (typeof id !== 'string' || id === '' || this.#namedIds.has(id)) return
    this.#namedIds.add(id)
    this.#objects.push({ kind, id, ...(facts !== undefined && { facts }) })
  }

  /** Usage is of the text of its own event too, in whichever order they stand there. */
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
      // One that counts nothing covers no text.
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
