import { GatewayError } from '../pipeline/errors.ts'
import {
  MultipartError,
  MultipartScanner,
  type MultipartOptions,
  type MultipartResult,
} from '../http/multipart-scan.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'

/** What takes a file out of the parts of a body. */
interface FileInParts {
  readonly scan: MultipartOptions
  /** The last byte has come, and the provider does not have it yet. It may throw. */
  check?(parts: MultipartResult): void
  /** All has come, and the file is what it is. Never rejects. */
  measure(): Promise<ObjectFacts>
  /** The upload broke off. */
  abort(): void
}

/**
 * Watches a body of parts on its way to the provider. One that breaks off in the middle is refused before the
 * provider has seen its end.
 */
export class PartsPassage implements WatchedFile {
  readonly #scanner: MultipartScanner
  readonly #file: FileInParts
  /** Bytes of the body that are still to come. */
  #left: number
  /** What the file is; undefined while it has not come whole. */
  facts: Promise<ObjectFacts> | undefined

  /** @param length the body's, where it was announced */
  constructor(boundary: string, length: number | undefined, file: FileInParts) {
    this.#scanner = new MultipartScanner(boundary, file.scan)
    this.#file = file
    this.#left = length ?? Number.POSITIVE_INFINITY
  }

  /** @throws GatewayError body_invalid */
  onData(chunk: Buffer): void {
    this.#left -= chunk.length
    this.#read(() => {
      this.#scanner.push(chunk)
      // Of a body of a known length the provider has everything when it has the last byte.
      if (this.#left <= 0) this.#finish()
    })
  }

  /** @throws GatewayError body_invalid */
  onEnd(): void {
    if (this.#left > 0) this.#read(() => this.#finish())
    this.facts = this.#file.measure()
  }

  abort(): void {
    if (this.facts === undefined) this.#file.abort()
  }

  #finish(): void {
    const parts = this.#scanner.end()
    this.#file.check?.(parts)
  }

  #read(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!(error instanceof MultipartError)) throw error
      throw new GatewayError('body_invalid', error.message, { cause: error })
    }
  }
}
