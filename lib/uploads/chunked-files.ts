import { headerValue } from '../http/headers.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'
import { GoogleBatchInputReader } from '../dialects/google/batches.ts'
import { measureUpload, type UploadMeter } from '../media/measure-upload.ts'

/** Uploads that are measured at once: those beyond, and abandoned ones, are not measured. */
const openMax = 1000
/** Of one account, those that wait for more bytes. An account that begins many and abandons them loses the oldest. */
const waitingPerAccountMax = 32
const idleMs = 600_000

interface OpenFile {
  readonly accountId: string
  readonly file: GoogleFile
  /** A request with bytes of it is in progress. */
  isComing: boolean
  touchedAt: number
}

/** A request with bytes of an account's upload. */
interface ChunkHead {
  /** The upload's id. */
  readonly id: string
  readonly accountId: string
  readonly headers: readonly string[]
  /** Not compressed in transit. */
  readonly isPlain: boolean
}

/** A file of Google's while it is uploaded, in any number of requests. */
export class GoogleFile {
  readonly #meter: UploadMeter = measureUpload()
  #batch: GoogleBatchInputReader | undefined = new GoogleBatchInputReader()
  /** Bytes that have arrived. */
  bytes = 0

  /**
   * Some of it arrives compressed. Whether the provider decompresses it is documented nowhere: who may read what must
   * not depend on that, so no batch is made of such a file.
   */
  forgetRequests(): void {
    this.#batch = undefined
  }

  write(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#meter.write(chunk)
    this.#batch?.push(chunk)
  }

  /** The file is complete. Google's uploads name no purpose: a file with a request in each line may become a batch. */
  async end(): Promise<ObjectFacts> {
    const batch = this.#batch?.end()
    return { ...(await this.#meter.end()), ...(batch !== undefined && batch.requests > 0 && { batch }) }
  }

  /** The upload broke off. */
  abort(): void {
    this.#meter.abort()
  }
}

/**
 * Measures files that arrive in several requests, each with the offset of its bytes in the file
 * (`X-Goog-Upload-Offset`). A file that this process has not seen from its first byte is not measured, nor is one that
 * it had to forget: what cannot be measured passes. Each request is compressed on its own, and the offset is that in
 * the file, as Google's clients for other services do it.
 */
export class ChunkedFiles {
  readonly #open = new Map<string, OpenFile>()
  readonly #now: () => number

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Watches one request of an account's upload; undefined when there is nothing to measure. */
  watch({ id, accountId, headers, isPlain }: ChunkHead): WatchedFile | undefined {
    const commands = (headerValue(headers, 'x-goog-upload-command') ?? 'upload, finalize').toLowerCase()
    if (!commands.includes('upload')) {
      if (commands.includes('cancel')) this.#drop(id)
      return undefined
    }
    const offset = Number(headerValue(headers, 'x-goog-upload-offset') ?? 0)
    const open = offset === 0 ? this.#begin(id, accountId) : this.#open.get(id)
    if (open === undefined) return undefined
    if (open.file.bytes !== offset) {
      this.#drop(id)
      return undefined
    }
    open.isComing = true
    open.touchedAt = this.#now()
    if (!isPlain) open.file.forgetRequests()
    const isLast = commands.includes('finalize')
    return new FileChunk(open.file, isLast, hasMore => {
      if (hasMore) this.#wait(open)
      else if (this.#open.get(id) === open) this.#open.delete(id)
    })
  }

  #begin(id: string, accountId: string): OpenFile | undefined {
    this.#drop(id)
    for (const [other, { isComing, touchedAt }] of this.#open) {
      if (!isComing && this.#now() - touchedAt > idleMs) this.#drop(other)
    }
    if (this.#open.size >= openMax) this.#dropOldest([...this.#open])
    if (this.#open.size >= openMax) return undefined
    const open = { accountId, file: new GoogleFile(), isComing: true, touchedAt: this.#now() }
    this.#open.set(id, open)
    return open
  }

  /** More bytes may follow, or may not. */
  #wait(open: OpenFile): void {
    open.isComing = false
    open.touchedAt = this.#now()
    const waiting = [...this.#open].filter(
      ([, other]) => other.accountId === open.accountId && !other.isComing,
    )
    if (waiting.length > waitingPerAccountMax) this.#dropOldest(waiting)
  }

  /** Drops the upload that has been without a request for longest. */
  #dropOldest(uploads: readonly (readonly [string, OpenFile])[]): void {
    let oldest: readonly [string, OpenFile] | undefined
    for (const upload of uploads) {
      const isOlder = oldest === undefined || upload[1].touchedAt < oldest[1].touchedAt
      if (!upload[1].isComing && isOlder) oldest = upload
    }
    if (oldest !== undefined) this.#drop(oldest[0])
  }

  #drop(id: string): void {
    this.#open.get(id)?.file.abort()
    this.#open.delete(id)
  }
}

/** One request of an upload: the only one, the last, or an earlier one. */
class FileChunk implements WatchedFile {
  readonly #file: GoogleFile
  readonly #isLast: boolean
  readonly #onOver: (hasMore: boolean) => void
  facts: Promise<ObjectFacts> | undefined
  #isWhole = false

  constructor(file: GoogleFile, isLast: boolean, onOver: (hasMore: boolean) => void) {
    this.#file = file
    this.#isLast = isLast
    this.#onOver = onOver
  }

  onData(chunk: Buffer): void {
    this.#file.write(chunk)
  }

  onEnd(): void {
    this.#isWhole = true
    this.#onOver(!this.#isLast)
    if (this.#isLast) this.facts = this.#file.end()
  }

  /** The client may resume where the provider says: bytes that were seen twice cannot be measured. */
  abort(): void {
    if (this.#isWhole) return
    this.#onOver(false)
    this.#file.abort()
  }
}

/** Watches the only request of an upload, whose body is the file: plain, or compressed in transit. */
export function watchWholeFile(isPlain: boolean): WatchedFile {
  const file = new GoogleFile()
  if (!isPlain) file.forgetRequests()
  return new FileChunk(file, true, () => undefined)
}
