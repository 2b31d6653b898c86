import { PieceList } from '../http/piece-list.ts'
import { MediaUnreadableError, MediaBudget, type MediaSource } from './media-reader.ts'
import { measureMedia, type MediaFacts } from './measure-media.ts'

/** How far a reader that is slower than the upload may fall behind before it loses its place. */
const behindBytesMax = 2_097_152
/** Always kept: types show at the beginning, and some lengths only at the end. */
const headBytesMax = 65_536
const tailBytesMax = 262_144

interface PendingRead {
  readonly position: number
  readonly length: number
  readonly resolve: (bytes: Buffer) => void
  readonly reject: (error: Error) => void
}

/** Measures a file while it is uploaded. */
export interface UploadMeter {
  /** The next bytes of the file itself; the call neither changes nor delays them. */
  write(chunk: Buffer): void
  /** The file is complete. Never rejects: a fact that cannot be measured is left out. */
  end(): Promise<MediaFacts>
  /** The upload ended early. */
  abort(): void
}

/**
 * An upload in transit, for one forward reader. Bytes before the reader's place are dropped, so memory does not grow
 * with the upload, and the upload never waits for the reader.
 */
export class ForwardSource implements MediaSource {
  readonly #size = Promise.withResolvers<number>()
  #head: Buffer = Buffer.alloc(0)
  /** The buffer that collects the head. */
  #headBlock: Buffer | undefined
  readonly #chunks = new PieceList()
  /** The position of the first chunk. */
  #keptFrom = 0
  #received = 0
  #hasEnded = false
  /** The reader waits for the end, and reads nothing before it. */
  #isForEnd = false
  #isAbandoned = false
  #pending: PendingRead | undefined

  constructor() {
    // A reader that waits for the size learns of an abort; there may be none.
    this.#size.promise.catch(() => undefined)
  }

  get receivedBytes(): number {
    return this.#received
  }

  /** The bytes kept in memory, beside the head. */
  get keptBytes(): number {
    return this.#chunks.pieces.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  push(chunk: Buffer): void {
    if (this.#received < headBytesMax && !this.#isAbandoned) {
      this.#headBlock ??= Buffer.allocUnsafeSlow(headBytesMax)
      const length = this.#received + chunk.copy(this.#headBlock, this.#received)
      this.#head = this.#headBlock.subarray(0, length)
    }
    this.#received += chunk.length
    if (this.#isAbandoned) return
    this.#chunks.push(chunk)
    this.#settle()
    this.#drop()
  }

  end(): void {
    this.#hasEnded = true
    this.#size.resolve(this.#received)
    this.#settle()
  }

  abort(): void {
    const error = new MediaUnreadableError('The upload was broken off.')
    this.#size.reject(error)
    this.#pending?.reject(error)
    this.abandon()
  }

  /** There is no reader any more: further bytes are only counted. */
  abandon(): void {
    this.#isAbandoned = true
    this.#pending = undefined
    this.#chunks.take()
    this.#head = Buffer.alloc(0)
    this.#headBlock = undefined
  }

  size(): Promise<number> {
    this.#isForEnd = true
    return this.#size.promise
  }

  read(position: number, length: number): Promise<Buffer> {
    if (this.#isAbandoned) return Promise.reject(new MediaUnreadableError('The upload is read no more.'))
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    this.#pending = { position, length, resolve, reject }
    this.#settle()
    this.#drop()
    return promise
  }

  #settle(): void {
    const pending = this.#pending
    if (pending === undefined) return
    const end = pending.position + pending.length
    if (end > this.#received && !this.#hasEnded) return
    this.#pending = undefined
    if (end <= this.#head.length) pending.resolve(this.#head.subarray(pending.position, end))
    else if (pending.position < this.#keptFrom) {
      pending.reject(new MediaUnreadableError('The upload has passed the place that was to be read.'))
    } else pending.resolve(this.#copy(pending.position, Math.min(end, this.#received)))
  }

  #copy(start: number, end: number): Buffer {
    const pieces: Buffer[] = []
    let at = this.#keptFrom
    for (const chunk of this.#chunks.pieces) {
      if (at >= end) break
      if (at + chunk.length > start)
        pieces.push(chunk.subarray(Math.max(0, start - at), Math.min(chunk.length, end - at)))
      at += chunk.length
    }
    return Buffer.concat(pieces)
  }

  #drop(): void {
    const behind = this.#isForEnd ? Infinity : this.#received - behindBytesMax
    const wanted = Math.min(this.#pending?.position ?? behind, this.#received - tailBytesMax)
    let count = 0
    for (const chunk of this.#chunks.pieces) {
      if (this.#keptFrom + chunk.length > wanted) break
      this.#keptFrom += chunk.length
      count++
    }
    if (count > 0) this.#chunks.pieces.splice(0, count)
  }
}

/** A meter for one file. It keeps at most two megabytes, however large the file is. */
export function measureUpload(): UploadMeter {
  const source = new ForwardSource()
  const measured = measureMedia(source, new MediaBudget())
    .then(
      ({ facts }) => facts,
      // The upload ended early: its part means nothing.
      () => undefined,
    )
    .finally(() => source.abandon())
  return {
    write: chunk => source.push(chunk),
    async end() {
      source.end()
      return { ...(await measured), bytes: source.receivedBytes }
    },
    abort: () => source.abort(),
  }
}
