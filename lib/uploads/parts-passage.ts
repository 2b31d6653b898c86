import { GatewayError } from '../pipeline/errors.ts'
import {
  MultipartError,
  MultipartScanner,
  type MultipartOptions,
  type MultipartResult,
} from '../http/multipart-scan.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'

/** Extracts a file from the parts of a body. */
interface FileInParts {
  readonly scan: MultipartOptions
  /** The last byte has arrived, and the provider does not have it yet. May throw. */
  check?(parts: MultipartResult): void
  /** The body is complete: resolves with the facts of the file. Never rejects. */
  measure(): Promise<ObjectFacts>
  /** The upload broke off. */
  abort(): void
}

/**
 * Watches a body of parts on its way to the provider. A body that breaks off in the middle is refused before the
 * provider has seen its end.
 */
export class PartsPassage implements WatchedFile {
  readonly #scanner: MultipartScanner
  readonly #file: FileInParts
  /** Bytes of the body that are still to come. */
  #left: number
  /** The facts of the file; undefined until it has arrived completely. */
  facts: Promise<ObjectFacts> | undefined

  /** @param length the body's, if it was announced */
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
      // When the length is known, the provider has the whole body once it has the last byte.
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
