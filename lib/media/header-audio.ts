import { parseBlob } from 'music-metadata'
import type { MediaReader } from './media-reader.ts'
import { MediaUnreadableError } from './media-source.ts'

/** Tags and pictures inside sound may be as large as the file; nothing here needs them. */
const pieceBytesMax = 1_048_576

/** A reader as the random access that the web knows: music-metadata reads slices of it. */
class ReaderBlob extends Blob {
  readonly #reader: MediaReader
  readonly #start: number
  readonly #length: number

  constructor(reader: MediaReader, type: string, start: number, length: number) {
    super([], { type })
    this.#reader = reader
    this.#start = start
    this.#length = length
  }

  override get size(): number {
    return this.#length
  }

  override slice(start = 0, end = this.#length): Blob {
    return new ReaderBlob(this.#reader, this.type, this.#start + start, Math.max(0, end - start))
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    if (this.#length > pieceBytesMax)
      throw new MediaUnreadableError('A piece of it is too large to be looked at.')
    const bytes = await this.#reader.read(this.#start, this.#length)
    return Uint8Array.from(bytes).buffer
  }
}

/**
 * The length of sound whose headers tell it: WAV, AIFF, FLAC and others that music-metadata knows.
 * @throws MediaUnreadableError
 */
export async function headerSeconds(reader: MediaReader, type: string): Promise<number | undefined> {
  // Told before tags further on turn out to be broken.
  let seconds: number | undefined
  try {
    await parseBlob(new ReaderBlob(reader, type, 0, await reader.size()), {
      skipCovers: true,
      observer: ({ tag }) => {
        if (tag.id === 'duration' && typeof tag.value === 'number') seconds = tag.value
      },
    })
  } catch (error) {
    if (seconds === undefined) {
      throw new MediaUnreadableError('Its headers cannot be read.', { cause: error })
    }
  }
  return seconds !== undefined && seconds > 0 && Number.isFinite(seconds) ? seconds : undefined
}
