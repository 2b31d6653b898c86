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
    if (this.#length > pieceBytesMax || allowance.bytes < 0 || allowance.pieces < 0)
      throw new MediaUnreadableError('Its headers are too large to be looked at.')
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
    if (seconds === undefined) throw new MediaUnreadableError('Its headers cannot be read.', { cause: error })
  }
  return seconds !== undefined && seconds > 0 && Number.isFinite(seconds) ? seconds : undefined
}

const frameSeconds = 0.02
/** Bytes behind the first of a frame, by its type (RFC 4867, 3.6); others have none. */
const narrowBytes = [12, 13, 15, 17, 19, 20, 26, 31, 5]
const wideBytes = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5]
const narrowStart = '#!AMR\n'
const wideStart = '#!AMR-WB\n'

/** The length of speech in AMR (RFC 4867, section 5): the sum over its frames, as it has no header that tells it. */
export async function amrSeconds(reader: MediaReader): Promise<number | undefined> {
  const start = (await reader.read(0, wideStart.length)).toString('latin1')
  const isWide = start === wideStart
  if (!isWide && !start.startsWith(narrowStart)) return undefined
  const sizes = isWide ? wideBytes : narrowBytes
  let position = isWide ? wideStart.length : narrowStart.length
  let frames = 0
  for (;;) {
    const window = await reader.window(position, 1)
    if (window.length === 0) break
    let at = 0
    for (; at < window.length; frames++) at += 1 + (sizes[((window[at] as number) >> 3) & 15] ?? 0)
    position += at
  }
  return frames === 0 ? undefined : frames * frameSeconds
}
