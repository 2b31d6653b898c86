import { JsonScanError, JsonScanner, type Finding, type Interest, type ScanOptions } from './json-scan.ts'
import type { CountedText } from './json-text.ts'

/** One line of a JSONL file. */
export interface JsonLine {
  /** Counted from 1; blank lines count, as they do in an editor. */
  readonly number: number
  /** Without the line end. */
  readonly bytes: number
  readonly findings: readonly Finding[]
  /** With `countsText`. */
  readonly counted?: CountedText
  /** Why the line could not be parsed; the findings are then those before the error. */
  readonly error?: JsonScanError
}

const lineFeed = 0x0a

/**
 * Scans JSON lines as their bytes arrive, each line as a document of its own. Only findings of the current line are
 * kept, so the memory depends neither on the file nor on the length of a line. Blank lines are skipped.
 */
export class JsonLines {
  readonly #interest: Interest
  readonly #options: ScanOptions
  readonly #onLine: (line: JsonLine) => void
  #scanner: JsonScanner | undefined
  #error: JsonScanError | undefined
  #number = 1
  #bytes = 0

  constructor(interest: Interest, options: ScanOptions, onLine: (line: JsonLine) => void) {
    this.#interest = interest
    this.#options = options
    this.#onLine = onLine
  }

  push(chunk: Buffer): void {
    let start = 0
    while (start < chunk.length) {
      // A line feed in a JSON string is always escaped, so every line feed ends a line.
      const end = chunk.indexOf(lineFeed, start)
      this.#scan(chunk.subarray(start, end === -1 ? chunk.length : end))
      if (end === -1) return
      this.#endLine()
      this.#number += 1
      start = end + 1
    }
  }

  /** The last line may lack its end. */
  end(): void {
    this.#endLine()
  }

  #scan(part: Buffer): void {
    this.#bytes += part.length
    if (this.#error !== undefined) return
    if (this.#scanner === undefined) {
      if (isBlank(part)) return
      this.#scanner = new JsonScanner(this.#interest, this.#options)
    }
    try {
      this.#scanner.push(part)
    } catch (error) {
      this.#error = scanErrorOf(error)
    }
  }

  #endLine(): void {
    const scanner = this.#scanner
    const bytes = this.#bytes
    let error = this.#error
    this.#scanner = undefined
    this.#error = undefined
    this.#bytes = 0
    if (scanner === undefined) return
    if (error === undefined) {
      try {
        scanner.end()
      } catch (thrown) {
        error = scanErrorOf(thrown)
      }
    }
    this.#onLine({
      number: this.#number,
      bytes,
      findings: scanner.findings,
      ...(scanner.counted !== undefined && { counted: scanner.counted }),
      ...(error !== undefined && { error }),
    })
  }
}

function isBlank(part: Buffer): boolean {
  return part.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

function scanErrorOf(error: unknown): JsonScanError {
  if (error instanceof JsonScanError) return error
  throw error
}
