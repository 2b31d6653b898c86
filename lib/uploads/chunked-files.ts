import { GoogleBatchInputReader } from '../dialects/google/batch-input.ts'
import { headerValue } from '../http/headers.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'

/** Uploads that are measured at once: of those beyond, and of those that stay away, nothing is known. */
const openMax = 1000
const idleMs = 600_000

interface OpenFile {
  readonly meter: UploadMeter
  readonly batch: GoogleBatchInputReader
  bytes: number
  touchedAt: number
}

/**
 * Measures files that come in several requests, each saying where in the file its bytes begin
 * (`X-Goog-Upload-Offset`). One that this process has not seen from its first byte is not measured.
 */
export class ChunkedFiles {
  readonly #open = new Map<string, OpenFile>()
  readonly #now: () => number

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Watches one request of an upload; undefined where there is nothing to measure. */
  watch(id: string, headers: readonly string[]): WatchedFile | undefined {
    const commands = (headerValue(headers, 'x-goog-upload-command') ?? 'upload, finalize').toLowerCase()
    if (!commands.includes('upload')) {
      if (commands.includes('cancel')) this.#drop(id)
      return undefined
    }
    const offset = Number(headerValue(headers, 'x-goog-upload-offset') ?? 0)
    const file = offset === 0 ? this.#begin(id) : this.#open.get(id)
    if (file === undefined) return undefined
    if (file.bytes !== offset) {
      this.#drop(id)
      return undefined
    }
    file.touchedAt = this.#now()
    return new FileChunk(file, commands.includes('finalize'), () => this.#forget(id, file))
  }

  /** Watches the only request of an upload. */
  whole(): WatchedFile {
    return new FileChunk(this.#newFile(), true, () => undefined)
  }

  #newFile(): OpenFile {
    return { meter: measureUpload(), batch: new GoogleBatchInputReader(), bytes: 0, touchedAt: this.#now() }
  }

  #begin(id: string): OpenFile | undefined {
    this.#drop(id)
    this.#dropIdle()
    if (this.#open.size >= openMax) return undefined
    const file = this.#newFile()
    this.#open.set(id, file)
    return file
  }

  #dropIdle(): void {
    for (const [id, { touchedAt }] of this.#open) if (this.#now() - touchedAt > idleMs) this.#drop(id)
  }

  #drop(id: string): void {
    this.#open.get(id)?.meter.abort()
    this.#open.delete(id)
  }

  #forget(id: string, file: OpenFile): void {
    if (this.#open.get(id) === file) this.#open.delete(id)
  }
}

class FileChunk implements WatchedFile {
  readonly #file: OpenFile
  readonly #isLast: boolean
  readonly #onOver: () => void
  #facts: Promise<ObjectFacts> | undefined
  #isWhole = false

  constructor(file: OpenFile, isLast: boolean, onOver: () => void) {
    this.#file = file
    this.#isLast = isLast
    this.#onOver = onOver
  }

  get facts(): Promise<ObjectFacts> | undefined {
    return this.#facts
  }

  onData(chunk: Buffer): void {
    this.#file.bytes += chunk.length
    this.#file.meter.write(chunk)
    this.#file.batch.push(chunk)
  }

  onEnd(): void {
    this.#isWhole = true
    if (!this.#isLast) return
    this.#onOver()
    this.#facts = factsOf(this.#file)
  }

  /** The client may go on from where the provider says: what was seen twice cannot be measured. */
  abort(): void {
    if (this.#isWhole) return
    this.#onOver()
    this.#file.meter.abort()
  }
}

/** No purpose is told of Google's files: what holds requests by the line may become a batch. */
async function factsOf({ meter, batch }: OpenFile): Promise<ObjectFacts> {
  const requests = batch.end()
  return { ...(await meter.end()), ...(requests.requests > 0 && { batch: requests }) }
}
