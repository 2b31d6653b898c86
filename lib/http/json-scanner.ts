import { JsonFindings, type OpenFinding } from './json-findings.ts'
import {
  JsonFrames,
  colonExpected,
  commaOrCloseExpected,
  describeUnexpected,
  endExpected,
  inText,
  inWord,
  keyExpected,
  keyOrCloseExpected,
  valueExpected,
  valueOrCloseExpected,
  JsonScanError,
  type JsonScanReason,
} from './json-frames.ts'
import { planOf, type Plan } from './json-plan.ts'
import type { Finding, Interest, JsonType, ScanOptions, ScanResult } from './json-scan.ts'
import { JsonText, type CountedText } from './json-text.ts'
import { TextValues } from './json-text-values.ts'
import { JsonWord } from './json-word.ts'

/**
 * Walks a JSON document that arrives in chunks (RFC 8259, strictly), and reports what the interest selects. Nothing is
 * parsed or kept beyond that, so cost and memory do not depend on the other content of the body.
 */
export class JsonScanner {
  readonly #frames: JsonFrames
  readonly #findings: JsonFindings
  readonly #text = new JsonText()
  readonly #word = new JsonWord()
  readonly #depthMax: number
  readonly #texts: TextValues
  /** The findings so far; a value that has not ended has the end -1. */
  readonly findings: readonly Finding[]
  #state = valueExpected
  /** How many bytes preceded the current chunk. */
  #chunkStart = 0
  /** The plan for the next value. */
  #next: Plan | undefined
  #scalar: OpenFinding | undefined
  #isKey = false
  #textStart = 0
  #failure: JsonScanError | undefined
  /** The document is an object, or has begun as one. */
  isObject = false

  /** `areChunksKept`: the chunks outlive the result, so raw values may be views of them. */
  constructor(interest: Interest, options: ScanOptions = {}, areChunksKept = false) {
    this.#next = planOf(interest, options.foldUnderscores ?? false)
    this.#depthMax = options.depthMax ?? 512
    this.#texts = new TextValues(options, (name, id) =>
      this.#findings.add(name, this.#frames.knownPath(), this.#textStart, id),
    )
    this.#frames = new JsonFrames(options.rejectDuplicates ?? true)
    this.#findings = new JsonFindings(
      options.valueBytesMax ?? 1_048_576,
      options.findingsMax ?? 100_000,
      areChunksKept,
    )
    this.findings = this.#findings.all
  }

  /** @throws JsonScanError now and at every later call */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure
    try {
      let position = 0
      while (position < chunk.length) {
        if (this.#state === inText) position = this.#scanText(chunk, position)
        else if (this.#state === inWord) position = this.#scanWord(chunk, position)
        else position = this.#scanStructure(chunk, position)
      }
      this.#texts.leave(chunk)
      this.#text.leave(chunk)
      this.#findings.leave(chunk, this.#chunkStart)
      this.#chunkStart += chunk.length
    } catch (error) {
      if (error instanceof JsonScanError) this.#failure = error
      throw error
    }
  }

  /** The counts so far, with `countsText`. */
  get counted(): CountedText | undefined {
    return this.#texts.count?.counted
  }

  /** The document has ended; the bytes after it do not belong to it. */
  get hasEnded(): boolean {
    return this.#state === endExpected
  }

  /**
   * Removes and returns the complete values of this name, with the findings inside them, so that a document may have
   * any number of them.
   */
  takeWhole(name: string): readonly Finding[] {
    return this.#findings.takeWhole(name)
  }

  /** Removes and returns the findings before the first value that has not ended. */
  takeEnded(): readonly Finding[] {
    return this.#findings.takeEnded()
  }

  /** @throws JsonScanError */
  end(): ScanResult {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#state === inWord && this.#frames.depth === 0 && this.#word.isWhole)
      this.#endScalar(Buffer.alloc(0), 0)
    if (this.#state === endExpected) {
      const counted = this.#texts.count?.counted
      return { findings: this.findings, ...(counted && { counted }) }
    }
    if (this.#chunkStart === 0) throw this.#fail('syntax', 0, 'The body is empty. Send a JSON document.')
    const bytes = this.#chunkStart
    throw this.#fail(
      'cut_off',
      0,
      `The body ends after ${bytes} bytes${this.#place()}, too early. Send all of it.`,
    )
  }

  /** Scans everything between strings, numbers and literals. Returns where the scan continues. */
  #scanStructure(chunk: Buffer, from: number): number {
    let position = from
    while (position < chunk.length) {
      const byte = chunk[position] as number
      switch (byte) {
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          break
        case 0x2c: // ,
          if (this.#state !== commaOrCloseExpected) throw this.#unexpected(byte, position)
          this.#state = this.#frames.isInObject ? keyExpected : valueExpected
          break
        case 0x3a: // :
          if (this.#state !== colonExpected) throw this.#unexpected(byte, position)
          this.#state = valueExpected
          break
        case 0x7b: // {
        case 0x5b: // [
          this.#open(byte === 0x7b, position)
          break
        case 0x7d: // }
        case 0x5d: // ]
          this.#close(byte === 0x7d, byte, chunk, position)
          break
        case 0x22: // "
          this.#beginText(chunk, position)
          position = this.#scanText(chunk, position + 1)
          continue
        default:
          this.#beginWord(byte, position)
          position = this.#scanWord(chunk, position + 1)
          continue
      }
      position++
    }
    return chunk.length
  }

  #open(isObject: boolean, position: number): void {
    const byte = isObject ? 0x7b : 0x5b
    const plan = this.#takePlan(byte, position)
    const finding = this.#begin(plan, isObject ? 'object' : 'array', position)
    if (this.#frames.depth >= this.#depthMax) {
      const what = `The body nests deeper than ${this.#depthMax} levels${this.#place()}. Flatten it.`
      throw this.#fail('too_deep', position, what)
    }
    if (this.#frames.depth === 0) this.isObject = isObject
    this.#frames.open(isObject, plan, finding)
    this.#state = isObject ? keyOrCloseExpected : valueOrCloseExpected
  }

  #close(isObject: boolean, byte: number, chunk: Buffer, position: number): void {
    const frames = this.#frames
    const isEmpty = this.#state === (isObject ? keyOrCloseExpected : valueOrCloseExpected)
    if (!isEmpty && (this.#state !== commaOrCloseExpected || frames.isInObject !== isObject))
      throw this.#unexpected(byte, position)
    const finding = frames.close()
    if (finding !== undefined)
      this.#findings.finish(finding, this.#chunkStart + position + 1, chunk, this.#chunkStart)
    this.#state = frames.depth === 0 ? endExpected : commaOrCloseExpected
  }

  #beginText(chunk: Buffer, position: number): void {
    const state = this.#state
    this.#isKey = state === keyExpected || state === keyOrCloseExpected
    if (this.#isKey) {
      this.#text.begin(this.#frames.keys === undefined ? -1 : position + 1, undefined)
    } else {
      const plan = this.#takePlan(0x22, position)
      this.#scalar = this.#begin(plan, 'string', position)
      this.#textStart = this.#chunkStart + position
      this.#text.begin(-1, this.#texts.begin(plan?.keep, chunk, position, this.#scalar?.path))
    }
    this.#state = inText
  }

  #scanText(chunk: Buffer, from: number): number {
    const position = this.#text.scan(chunk, from)
    if (this.#text.isBroken)
      throw this.#syntax(position, 'a control character or a wrong escape stands in a string. Escape it')
    if (!this.#text.isEnded) return position
    if (!this.#isKey) {
      this.#endScalar(chunk, position)
      return position
    }
    this.#state = colonExpected
    const keys = this.#frames.keys
    if (keys === undefined) this.#next = undefined
    else {
      const member = this.#text.member(chunk, position - 1, keys)
      this.#next = this.#frames.enter(member, this.#text.key, this.#chunkStart + position - 1)
    }
    return position
  }

  #beginWord(byte: number, position: number): void {
    if (!this.#word.begin(byte)) throw this.#unexpected(byte, position)
    this.#scalar = this.#begin(this.#takePlan(byte, position), this.#word.type, position)
    this.#state = inWord
  }

  #scanWord(chunk: Buffer, from: number): number {
    const position = this.#word.scan(chunk, from)
    if (this.#word.problem !== undefined) throw this.#syntax(position, this.#word.problem)
    if (this.#word.isEnded) this.#endScalar(chunk, position)
    return position
  }

  #endScalar(chunk: Buffer, position: number): void {
    this.#state = this.#frames.depth === 0 ? endExpected : commaOrCloseExpected
    const base64 = this.#texts.end(chunk, position)
    const finding = this.#scalar
    if (finding === undefined) return
    this.#scalar = undefined
    if (base64 !== undefined) finding.base64 = base64
    this.#findings.finish(finding, this.#chunkStart + position, chunk, this.#chunkStart)
  }

  /** The plan for the value that starts here, if one may start here. */
  #takePlan(byte: number, position: number): Plan | undefined {
    if (this.#state !== valueExpected && this.#state !== valueOrCloseExpected)
      throw this.#unexpected(byte, position)
    if (this.#frames.depth > 0 && !this.#frames.isInObject) return this.#frames.nextItem()
    return this.#next
  }

  #begin(plan: Plan | undefined, type: JsonType, position: number): OpenFinding | undefined {
    if (plan?.name === undefined) return undefined
    const start = this.#chunkStart + position
    return this.#findings.begin(plan.name, plan.keep, this.#frames.path(), type, start)
  }

  #unexpected(byte: number, position: number): JsonScanError {
    return this.#syntax(position, describeUnexpected(byte, this.#state, this.#chunkStart + position))
  }

  #syntax(position: number, what: string): JsonScanError {
    const at = this.#chunkStart + position
    return this.#fail('syntax', position, `The body is not valid JSON: ${what} (byte ${at}${this.#place()}).`)
  }

  #place(): string {
    const path = this.#frames.knownPath()
    return path === '' ? '' : `, in ${path}`
  }

  #fail(reason: JsonScanReason, position: number, message: string): JsonScanError {
    return new JsonScanError(reason, this.#frames.knownPath(), this.#chunkStart + position, message)
  }
}
