import { GoogleBatchInputReader } from '../dialects/google/batch-input.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'
import type { ObjectFacts } from '../money/usage.ts'

/** A file of Google's while it is uploaded, in however many pieces. */
export class GoogleFile {
  readonly #meter: UploadMeter = measureUpload()
  readonly #batch = new GoogleBatchInputReader()
  #bytes = 0

  /** What has come of it. */
  get bytes(): number {
    return this.#bytes
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#meter.write(chunk)
    this.#batch.push(chunk)
  }

  /** The file is whole. No purpose is told of Google's files: what holds requests by the line may become a batch. */
  async end(): Promise<ObjectFacts> {
    const requests = this.#batch.end()
    return { ...(await this.#meter.end()), ...(requests.requests > 0 && { batch: requests }) }
  }

  /** The upload broke off. */
  abort(): void {
    this.#meter.abort()
  }
}
