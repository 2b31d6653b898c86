import { PassThrough } from 'node:stream'
import { decodedPieces } from '../bodies/decoded-pieces.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { ObjectFacts } from '../money/usage.ts'
import type { WatchedFile } from './watched-file.ts'

/** Twice the largest file that any provider accepts. */
const decodedBytesMax = 1_073_741_824

/** How an upload is sent. */
interface Compressed {
  readonly encoding: string
  /** Of the compressed upload, if it was announced. */
  readonly length: number | undefined
  /** An upload that cannot be decoded is refused; otherwise it passes, and the file is not measured. */
  readonly mustBeRead: boolean
}

/**
 * Watches a decoded copy of an upload that goes to the provider compressed. The upload is not sent faster than it is
 * decoded, and its end waits until all of it was seen.
 */
export class DecodedUpload implements WatchedFile {
  readonly #file: WatchedFile
  readonly #input = new PassThrough()
  readonly #decoded: Promise<void>
  /** Compressed bytes that are still to come. */
  #left: number

  constructor({ encoding, length, mustBeRead }: Compressed, file: WatchedFile) {
    this.#file = file
    this.#left = length ?? Number.POSITIVE_INFINITY
    // A caller that waits for a chunk gets this error from `#decoded`.
    this.#input.on('error', () => undefined)
    this.#decoded = this.#decode(encoding, mustBeRead)
    this.#decoded.catch(() => undefined)
  }

  /** The facts of the file; undefined until it has arrived completely. */
  get facts(): Promise<ObjectFacts> | undefined {
    return this.#file.facts
  }

  /** @throws GatewayError body_invalid, body_too_large, request_invalid */
  async onData(chunk: Buffer): Promise<void> {
    this.#left -= chunk.length
    const isTaken = await new Promise<boolean>(resolve => {
      // A destroyed stream does not call back for the chunk that it has begun to process.
      const refuse = (): void => resolve(false)
      this.#input.once('close', refuse)
      this.#input.write(chunk, error => {
        this.#input.off('close', refuse)
        resolve(error === null || error === undefined)
      })
    })
    if (!isTaken || this.#left <= 0) await this.#finish()
  }

  /** @throws GatewayError as `onData` */
  async onEnd(): Promise<void> {
    if (this.#left > 0) await this.#finish()
  }

  abort(): void {
    this.#input.destroy()
    this.#file.abort()
  }

  async #finish(): Promise<void> {
    this.#input.end()
    await this.#decoded
  }

  async #decode(encoding: string, mustBeRead: boolean): Promise<void> {
    try {
      for await (const piece of decodedPieces(this.#input, encoding, decodedBytesMax))
        await this.#file.onData(piece)
      await this.#file.onEnd?.()
    } catch (error) {
      this.#input.destroy()
      if (mustBeRead || !(error instanceof GatewayError)) throw error
      this.#file.abort()
    }
  }
}
