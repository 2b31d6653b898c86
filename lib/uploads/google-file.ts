import { GoogleBatchInputReader } from '../dialects/google/batch-input.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'
import type { ObjectFacts } from '../money/usage.ts'

/** A file of Google's while it is uploaded, in however many pieces. */
export class GoogleFile {
  readonly #meter: UploadMeter = measureUpload()
  #batch: GoogleBatchInputReader | undefined = new GoogleBatchInputReader()
  #bytes = 0

  /** What has come of it. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Some of it comes compressed. Whether the provider undoes that is nowhere written: who may ask for what must
   * not hang on it, and so no batch is made of such a file.
   */
  forgetRequests(): void {
    this.#batch = undefined
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#meter.write(chunk)
    this.#batch?.push(chunk)
  }

  /** The file is whole. No purpose is told of Google's files: what holds requests by the line may become a batch. */
  async end(): Promise<ObjectFacts> {
    const batch = this.#batch?.end()
    return { ...(await this.#meter.end()), ...(batch !== undefined && batch.requests > 0 && { batch }) }
  }

  /** The upload broke off. */
  abort(): void {
    this.#meter.abort()
  }
}
