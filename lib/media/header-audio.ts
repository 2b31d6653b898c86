import { MediaUnreadableError, type MediaReader } from './media-reader.ts'

/**
 * Tags inside audio may be as large as the file, and music-metadata makes an object of every word in them:
 * nothing here needs them, and headers are short.
 */
const pieceBytesMax = 8192
const allBytesMax = 262_144
const piecesMax = 4000

/** What one file may still take. */
interface Allowance {
  bytes: number
  pieces: number
}

/** A reader as the random access that the web knows: music-metadata reads slices of it. */
class ReaderBlob extends Blob {
  readonly #reader: MediaReader
  readonly #start: number
  readonly #length: number
  readonly #allowance: Allowance

  constructor(reader: MediaReader, type: string, start: number, length: number, allowance: Allowance) {
    super([], { type })
    this.#reader = reader
    this.#start = start
    this.#length = length
    this.#allowance = allowance
  }

  override get size(): number {
    return this.#length
  }

  override slice(start = 0, end = this.#length): Blob {
    const length = Math.max(0, end - start)
    return new ReaderBlob(this.#reader, this.type, this.#start + start, length, this.#allowance)
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const allowance = this.#allowance
    allowance.bytes -= this.#length
    allowance.pieces -= 1
    if (this.#length > pieceBytesMax || allowance.bytes < 0 || allowance.pieces < 0) {
      throw new MediaUnreadableError('Its headers are too large to be looked at.')
    }
    const bytes = await this.#reader.read(this.#start, this.#length)
    return Uint8Array.from(bytes).buffer
  }
}

/**
 * The length of audio whose headers tell it: WAV, AIFF, FLAC and others that music-metadata knows.
 * @throws MediaUnreadableError
 */
export async function headerSeconds(
  reader: MediaReader,
  type: string,
  start = 0,
): Promise<number | undefined> {
  // Loaded by the first audio file, as most gateways see none for long.
  const { parseBlob } = await import('music-metadata')
  // Told before tags further on turn out to be broken.
  let seconds: number | undefined
  try {
    const allowance = { bytes: allBytesMax, pieces: piecesMax }
    const length = Math.max(0, (await reader.size()) - start)
    await parseBlob(new ReaderBlob(reader, type, start, length, allowance), {
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
