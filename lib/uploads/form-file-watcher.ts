import { BatchInputReader } from '../dialects/openai/batch-input.ts'
import { GatewayError } from '../errors.ts'
import { multipartBoundary, MultipartError, MultipartScanner } from '../http/multipart-scan.ts'
import type { UploadWatcher } from '../http/upload-watcher.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'

const fieldBytesMax = 256
const fileField = 'file'

/**
 * Measures the file in a form on its way to the provider. A form that breaks off in the middle is refused
 * before the provider has seen its end.
 */
export class FormFileWatcher implements UploadWatcher, WatchedFile {
  readonly #scanner: MultipartScanner
  readonly #meter: UploadMeter = measureUpload()
  readonly #batch = new BatchInputReader()
  #purpose = ''
  /** Bytes of the form that are still to come. */
  #left: number
  /** Nothing else in the form could be taken for the file. */
  #isSure = true
  #facts: Promise<ObjectFacts> | undefined
  /** Where the first part that is a file begins: others are not looked at. */
  #fileStart: number | undefined

  /**
   * @param length the form's, where it was announced
   * @throws GatewayError body_invalid for a form without a boundary
   */
  constructor(contentType: string, length: number | undefined) {
    this.#left = length ?? Number.POSITIVE_INFINITY
    const boundary = multipartBoundary(contentType)
    if (boundary === undefined) {
      throw new GatewayError(
        'body_invalid',
        'The content-type must be multipart/form-data with a boundary.',
        { param: 'content-type' },
      )
    }
    this.#scanner = new MultipartScanner(boundary, {
      onContent: (part, bytes) => {
        if (part.filename === undefined) {
          const isPurpose = part.name.toLowerCase() === 'purpose' && this.#purpose.length < fieldBytesMax
          if (isPurpose) this.#purpose += bytes.toString('latin1', 0, fieldBytesMax)
          if (part.name.toLowerCase() === fileField) this.#isSure = false
          return
        }
        this.#fileStart ??= part.start
        this.#isSure &&= part.start === this.#fileStart && part.name === fileField
        if (part.start !== this.#fileStart) return
        this.#meter.write(bytes)
        this.#batch.push(bytes)
      },
    })
  }

  /** What the file is; undefined while it has not come whole. */
  get facts(): Promise<ObjectFacts> | undefined {
    return this.#facts
  }

  onData(chunk: Buffer): void {
    this.#left -= chunk.length
    this.#scan(() => {
      this.#scanner.push(chunk)
      // Of a form of a known length the provider has everything when it has the last byte.
      if (this.#left <= 0) this.#scanner.end()
    })
  }

  onEnd(): void {
    if (this.#left > 0) this.#scan(() => this.#scanner.end())
    this.#facts = this.#measure()
  }

  abort(): void {
    if (this.#facts === undefined) this.#meter.abort()
  }

  async #measure(): Promise<ObjectFacts> {
    const isBatch = this.#isSure && this.#purpose.trim() === 'batch'
    const batch = isBatch ? { batch: this.#batch.end() } : undefined
    return { ...(await this.#meter.end()), ...batch }
  }

  #scan(read: () => unknown): void {
    try {
      read()
    } catch (error) {
      this.#meter.abort()
      if (!(error instanceof MultipartError)) throw error
      throw new GatewayError('body_invalid', error.message, { cause: error })
    }
  }
}
