import type { Base64Facts, Finding, Interest, JsonType } from './json-scan.ts'
import { JsonScanError } from './json-frames.ts'
import { PieceList } from './piece-list.ts'

/** A finding whose value has begun and not ended. */
export interface OpenFinding {
  name: string
  path: string
  type: JsonType
  start: number
  end: number
  raw?: Buffer
  base64?: Base64Facts
}

/**
 * Findings in the order in which their values start, and the bytes of those that are kept. Of earlier chunks, only the
 * bytes that a kept value needs are held.
 */
export class JsonFindings {
  readonly #valueBytesMax: number
  readonly #findingsMax: number
  readonly #areChunksKept: boolean
  readonly all: OpenFinding[] = []
  readonly #open: OpenFinding[] = []
  #held: PieceList | undefined
  #heldStart = 0

  constructor(valueBytesMax: number, findingsMax: number, areChunksKept: boolean) {
    this.#valueBytesMax = valueBytesMax
    this.#findingsMax = findingsMax
    this.#areChunksKept = areChunksKept
  }

  /** @throws JsonScanError too_many */
  begin(name: string, keep: Interest['keep'], path: string, type: JsonType, start: number): OpenFinding {
    if (this.all.length >= this.#findingsMax) {
      throw new JsonScanError(
        'too_many',
        path,
        start,
        `The body has more than ${this.#findingsMax} parts, counted up to ${path}. Send fewer in one request.`,
      )
    }
    const finding: OpenFinding = { name, path, type, start, end: -1 }
    this.all.push(finding)
    if (keep === 'value') {
      if (this.#open.length === 0) this.#heldStart = start
      this.#open.push(finding)
    }
    return finding
  }

  /** Adds a finding inside a text that has not ended. */
  add(name: string, path: string, start: number, text: string): void {
    const finding = this.begin(name, 'span', path, 'string', start)
    finding.end = start
    finding.raw = Buffer.from(JSON.stringify(text))
  }

  /** The value ended before offset `end`; `chunk` is the current chunk and starts at `chunkStart`. */
  finish(finding: OpenFinding, end: number, chunk: Buffer, chunkStart: number): void {
    finding.end = end
    if (this.#open.at(-1) !== finding) return
    this.#check(finding, end)
    finding.raw = this.#bytes(finding.start, end, chunk, chunkStart)
    this.#open.pop()
    if (this.#open.length === 0) this.#held?.take()
  }

  /** Copies what open values need from a chunk that is about to be released. */
  leave(chunk: Buffer, chunkStart: number): void {
    const outermost = this.#open[0]
    if (outermost === undefined) return
    this.#check(outermost, chunkStart + chunk.length)
    const from = Math.max(0, outermost.start - chunkStart)
    this.#held ??= new PieceList()
    this.#held.push(Buffer.from(chunk.subarray(from)))
  }

  /** Removes and returns the complete values of this name, with the findings inside them. */
  takeWhole(name: string): readonly Finding[] {
    const taken: OpenFinding[] = []
    const kept: OpenFinding[] = []
    let end = -1
    for (const [index, finding] of this.all.entries()) {
      if (finding.start >= end && finding.name === name) {
        // Nothing after it can be complete.
        if (finding.end === -1) {
          kept.push(...this.all.slice(index))
          break
        }
        end = finding.end
      }
      ;(finding.start < end ? taken : kept).push(finding)
    }
    if (taken.length > 0) this.all.splice(0, this.all.length, ...kept)
    return taken
  }

  /** Removes and returns the findings before the first value that has not ended. */
  takeEnded(): readonly Finding[] {
    let count = 0
    while (count < this.all.length && this.all[count]?.end !== -1) count += 1
    return this.all.splice(0, count)
  }

  #bytes(start: number, end: number, chunk: Buffer, chunkStart: number): Buffer {
    if (start >= chunkStart) {
      const bytes = chunk.subarray(start - chunkStart, end - chunkStart)
      return this.#areChunksKept ? bytes : Buffer.from(bytes)
    }
    const whole = Buffer.concat([...(this.#held?.pieces ?? []), chunk.subarray(0, end - chunkStart)])
    return whole.subarray(start - this.#heldStart)
  }

  #check(finding: OpenFinding, end: number): void {
    if (end - finding.start <= this.#valueBytesMax) return
    throw new JsonScanError(
      'value_too_large',
      finding.path,
      finding.start,
      `${finding.path === '' ? 'The body' : finding.path} is larger than ${this.#valueBytesMax} bytes. Send a shorter value.`,
    )
  }
}
