import { Base64Meter } from './json-base64.ts'
import { JsonFindings } from './json-findings.ts'
import type { OpenFinding } from './json-findings.ts'
import { JsonFrames } from './json-frames.ts'
import { firstNumberState, isWholeNumber, nextNumberState, numberEnded } from './json-number.ts'
import { JsonScanError } from './json-scan-error.ts'
import type { JsonScanReason } from './json-scan-error.ts'
import type { Interest, JsonType, ScanOptions, ScanResult } from './json-scan.ts'
import { JsonText } from './json-text.ts'

const valueExpected = 0
const valueOrCloseExpected = 1
const keyExpected = 2
const keyOrCloseExpected = 3
const colonExpected = 4
const commaOrCloseExpected = 5
const endExpected = 6
const inText = 7
const inNumber = 8
const inLiteral = 9

const expectations = [
  'a value',
  "a value or ']'",
  'a key in double quotes',
  "a key in double quotes or '}'",
  "':'",
  "',' or the end of the object or array",
  'nothing more',
]

/**
 * Walks a JSON document that comes in chunks (RFC 8259, strictly), and reports what the interest asks for.
 * Nothing is parsed or kept beyond that, so the cost and the memory do not depend on what the body holds.
 */
export class JsonScanner {
  readonly #frames: JsonFrames
  readonly #findings: JsonFindings
  readonly #text = new JsonText()
  readonly #depthMax: number
  readonly #onBase64: ScanOptions['onBase64']
  #meter: Base64Meter | undefined
  #isMeasuring = false
  #state = valueExpected
  /** How many bytes came before the current chunk. */
  #chunkStart = 0
  /** The interest in the value that comes next. */
  #next: Interest | undefined
  #scalar: OpenFinding | undefined
  #numberState = 0
  #literal: 'true' | 'false' | 'null' = 'null'
  #literalIndex = 0
  #isKey = false
  #failure: JsonScanError | undefined

  /** `areChunksKept`: the chunks outlive the result, so that raw values may be views of them. */
  constructor(interest: Interest, options: ScanOptions = {}, areChunksKept = false) {
    this.#next = interest
    this.#depthMax = options.depthMax ?? 512
    this.#onBase64 = options.onBase64
    this.#frames = new JsonFrames(options.foldUnderscores ?? false, options.rejectDuplicates ?? true)
    this.#findings = new JsonFindings(
      options.valueBytesMax ?? 1_048_576,
      options.findingsMax ?? 100_000,
      areChunksKept,
    )
  }

  /** @throws JsonScanError now and at every later call */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure
    try {
      let position = 0
      while (position < chunk.length) {
        if (this.#state === inText) position = this.#scanText(chunk, position)
        else if (this.#state === inNumber) position = this.#scanNumber(chunk, position)
        else if (this.#state === inLiteral) position = this.#scanLiteral(chunk, position)
        else position = this.#scanStructure(chunk, position)
      }
      this.#text.leave(chunk)
      this.#findings.leave(chunk, this.#chunkStart)
      this.#chunkStart += chunk.length
    } catch (error) {
      if (error instanceof JsonScanError) this.#failure = error
      throw error
    }
  }

  /** @throws JsonScanError */
  end(): ScanResult {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#state === inNumber && this.#frames.depth === 0 && isWholeNumber(this.#numberState)) {
      this.#endScalar(Buffer.alloc(0), 0)
    }
    if (this.#state === endExpected) return { findings: this.#findings.list() }
    if (this.#chunkStart === 0) throw this.#fail('syntax', 0, 'The body is empty. Send a JSON document.')
    const path = this.#frames.path()
    const place = path === '' ? '' : ` in ${path}`
    throw this.#fail(
      'cut_off',
      0,
      `The body ends too early${place}, after ${this.#chunkStart} bytes. Send the whole JSON document.`,
    )
  }

  /** Everything between strings, numbers and literals. Returns where the scan goes on. */
  #scanStructure(chunk: Buffer, from: number): number {
    for (let position = from; position < chunk.length; position++) {
      const byte = chunk[position] as number
      switch (byte) {
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          continue
        case 0x2c: // ,
          if (this.#state !== commaOrCloseExpected) throw this.#unexpected(byte, position)
          this.#state = this.#frames.isInObject ? keyExpected : valueExpected
          continue
        case 0x3a: // :
          if (this.#state !== colonExpected) throw this.#unexpected(byte, position)
          this.#state = valueExpected
          continue
        case 0x7b: // {
        case 0x5b: // [
          this.#open(byte === 0x7b, position)
          continue
        case 0x7d: // }
        case 0x5d: // ]
          this.#close(byte === 0x7d, byte, chunk, position)
          continue
        case 0x22: // "
          this.#beginText(position)
          return position + 1
        default:
          this.#beginWord(byte, position)
          return position + 1
      }
    }
    return chunk.length
  }

  #open(isObject: boolean, position: number): void {
    const byte = isObject ? 0x7b : 0x5b
    const interest = this.#takeInterest(byte, position)
    const finding = this.#begin(interest, isObject ? 'object' : 'array', position)
    if (this.#frames.depth >= this.#depthMax) {
      throw this.#fail(
        'too_deep',
        position,
        `The body nests deeper than ${this.#depthMax} levels${this.#place()}. Flatten it.`,
      )
    }
    this.#frames.open(isObject, interest, finding)
    this.#state = isObject ? keyOrCloseExpected : valueOrCloseExpected
  }

  #close(isObject: boolean, byte: number, chunk: Buffer, position: number): void {
    const frames = this.#frames
    const isEmpty = this.#state === (isObject ? keyOrCloseExpected : valueOrCloseExpected)
    if (!isEmpty && (this.#state !== commaOrCloseExpected || frames.isInObject !== isObject)) {
      throw this.#unexpected(byte, position)
    }
    const finding = frames.close()
    if (finding !== undefined) {
      this.#findings.finish(finding, this.#chunkStart + position + 1, chunk, this.#chunkStart)
    }
    this.#state = frames.depth === 0 ? endExpected : commaOrCloseExpected
  }

  #beginText(position: number): void {
    const state = this.#state
    this.#isKey = state === keyExpected || state === keyOrCloseExpected
    if (this.#isKey) {
      this.#text.begin(this.#frames.wantsKeys ? position + 1 : -1, undefined)
    } else {
      const interest = this.#takeInterest(0x22, position)
      this.#scalar = this.#begin(interest, 'string', position)
      this.#text.begin(-1, interest?.keep === 'base64' ? this.#startMeter(this.#scalar) : undefined)
    }
    this.#state = inText
  }

  #scanText(chunk: Buffer, from: number): number {
    const position = this.#text.scan(chunk, from)
    if (this.#text.isBroken) {
      throw this.#syntax(position, 'a control character or a wrong escape stands in a string. Escape it')
    }
    if (!this.#text.isEnded) return position
    if (!this.#isKey) {
      this.#endScalar(chunk, position)
      return position
    }
    this.#state = colonExpected
    if (this.#frames.wantsKeys) {
      const key = this.#text.key(chunk, position - 1)
      this.#next = this.#frames.member(key, this.#chunkStart + position - 1)
    } else this.#next = undefined
    return position
  }

  #beginWord(byte: number, position: number): void {
    const isNumber = byte === 0x2d || (byte >= 0x30 && byte <= 0x39)
    if (isNumber) this.#numberState = firstNumberState(byte)
    else if (byte === 0x74) this.#literal = 'true'
    else if (byte === 0x66) this.#literal = 'false'
    else if (byte === 0x6e) this.#literal = 'null'
    else throw this.#unexpected(byte, position)
    this.#scalar = this.#begin(
      this.#takeInterest(byte, position),
      isNumber ? 'number' : this.#literal,
      position,
    )
    this.#literalIndex = 1
    this.#state = isNumber ? inNumber : inLiteral
  }

  #scanNumber(chunk: Buffer, from: number): number {
    let state = this.#numberState
    for (let position = from; position < chunk.length; position++) {
      const next = nextNumberState(state, chunk[position] as number)
      if (next === numberEnded) {
        if (!isWholeNumber(state)) throw this.#syntax(position, 'a number is not finished')
        this.#endScalar(chunk, position)
        return position
      }
      state = next
    }
    this.#numberState = state
    return chunk.length
  }

  #scanLiteral(chunk: Buffer, from: number): number {
    const literal = this.#literal
    let position = from
    while (position < chunk.length && this.#literalIndex < literal.length) {
      if (chunk[position] !== literal.charCodeAt(this.#literalIndex)) {
        throw this.#syntax(position, `'${literal}' is misspelt`)
      }
      position++
      this.#literalIndex++
    }
    if (this.#literalIndex === literal.length) this.#endScalar(chunk, position)
    return position
  }

  #endScalar(chunk: Buffer, position: number): void {
    this.#state = this.#frames.depth === 0 ? endExpected : commaOrCloseExpected
    const finding = this.#scalar
    if (finding === undefined) return
    this.#scalar = undefined
    if (this.#isMeasuring && this.#meter !== undefined) finding.base64 = this.#meter.end()
    this.#isMeasuring = false
    this.#findings.finish(finding, this.#chunkStart + position, chunk, this.#chunkStart)
  }

  /** The interest in the value that begins here, if one may begin here. */
  #takeInterest(byte: number, position: number): Interest | undefined {
    if (this.#state !== valueExpected && this.#state !== valueOrCloseExpected) {
      throw this.#unexpected(byte, position)
    }
    if (this.#frames.depth > 0 && !this.#frames.isInObject) return this.#frames.nextItem()
    return this.#next
  }

  #begin(interest: Interest | undefined, type: JsonType, position: number): OpenFinding | undefined {
    if (interest?.name === undefined) return undefined
    const start = this.#chunkStart + position
    return this.#findings.begin(interest.name, interest.keep, this.#frames.path(), type, start)
  }

  #startMeter(finding: OpenFinding | undefined): Base64Meter | undefined {
    if (finding === undefined) return undefined
    this.#meter ??= new Base64Meter()
    this.#isMeasuring = true
    const onBase64 = this.#onBase64
    this.#meter.begin(onBase64 && (bytes => onBase64(finding.path, bytes)))
    return this.#meter
  }

  #unexpected(byte: number, position: number): JsonScanError {
    if (this.#chunkStart + position === 0 && byte === 0xef) {
      return this.#syntax(position, 'it begins with a byte order mark. Leave it out')
    }
    const found = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte ${byte}`
    return this.#syntax(position, `${found} was found where ${expectations[this.#state]} was expected`)
  }

  #syntax(position: number, what: string): JsonScanError {
    const at = this.#chunkStart + position
    return this.#fail('syntax', position, `The body is not valid JSON: ${what} (byte ${at}${this.#place()}).`)
  }

  #place(): string {
    const path = this.#frames.path()
    return path === '' ? '' : `, in ${path}`
  }

  #fail(reason: JsonScanReason, position: number, message: string): JsonScanError {
    return new JsonScanError(reason, this.#frames.path(), this.#chunkStart + position, message)
  }
}
