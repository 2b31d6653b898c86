import { framesSeconds } from './audio-frames.ts'
import { believedSeconds, MediaUnreadableError, type MediaReader } from './media-reader.ts'

/**
 * Tags inside audio may be as large as the file, and music-metadata makes an object of every word in them:
 * nothing here needs them, and headers are short.
 */
const pieceBytesMax = 8192
const allBytesMax = 262_144
const piecesMax = 4000

/** The remaining allowance of one file. */
interface Allowance {
  bytes: number
  pieces: number
}

/** Presents a reader as the web's random access: music-metadata reads slices of it. */
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
 * The length of audio whose headers state it: WAV, AIFF, FLAC and others that music-metadata supports.
 * @throws MediaUnreadableError
 */
export async function headerSeconds(
  reader: MediaReader,
  type: string,
  start = 0,
): Promise<number | undefined> {
  // Loaded with the first audio file, since most gateways receive none for a long time.
  const { parseBlob } = await import('music-metadata')
  // Known before later tags turn out to be broken.
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
/** Bytes after the first of a frame, by its type (RFC 4867, 3.6); other types have none. */
const narrowBytes = [12, 13, 15, 17, 19, 20, 26, 31, 5]
const wideBytes = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5]
const narrowStart = '#!AMR\n'
const wideStart = '#!AMR-WB\n'

/** The length of speech in AMR (RFC 4867, section 5): the sum over its frames, since no header states it. */
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

const chunksMax = 1000
const chunkBytes = 48
/** The extensible format of a WAV, which names the real one further on. */
const extended = 0xfffe
/** MPEG audio of layers 1 and 2, of layer 3, and AAC in ADTS: sequences of frames, each of which states its length. */
const ofFrames: ReadonlySet<number> = new Set([0x50, 0x55, 0x1600])

/** The coding of the samples of a WAV or AIFF: bytes per second, or a sequence of frames. */
type Coding = number | 'frames'

interface SampleChunk {
  readonly start: number
  /** The size that the chunk itself states. */
  readonly saidBytes: number
}

/**
 * The length of a WAV or AIFF: the one in its header, unless its samples are longer. Players do not stop at the number
 * of frames that a header states.
 * @throws MediaUnreadableError if its samples have a compression whose playing time is unknown
 */
export async function waveSeconds(reader: MediaReader, mediaType: string): Promise<number | undefined> {
  // Comes first, since an upload's earlier bytes are not kept, and its size is known only at its end.
  const held = await heldSeconds(reader)
  return believedSeconds(await saidSeconds(reader, mediaType, held > 0), held)
}

/** The length from samples, where it follows without a header. */
async function saidSeconds(
  reader: MediaReader,
  mediaType: string,
  isHeld: boolean,
): Promise<number | undefined> {
  try {
    return await headerSeconds(reader, mediaType)
  } catch (error) {
    if (isHeld && error instanceof MediaUnreadableError) return undefined
    throw error
  }
}

/** By the bytes of the samples; 0 if there are none. */
async function heldSeconds(reader: MediaReader): Promise<number> {
  const isAiff = (await reader.read(0, 4)).toString('latin1') === 'FORM'
  let coding: Coding | undefined
  const chunks: SampleChunk[] = []
  let position = 12
  for (let chunk = 0; chunk < chunksMax; chunk++) {
    const head = await reader.read(position, chunkBytes)
    if (head.length < 8) break
    const type = head.toString('latin1', 0, 4)
    const saidBytes = isAiff ? head.readUInt32BE(4) : head.readUInt32LE(4)
    if (type === 'fmt ' && head.length >= 24) coding = slower(coding, wavCoding(head))
    if (type === 'COMM' && head.length >= 26) coding = slower(coding, aiffCoding(head, saidBytes))
    const start = position + 8
    if (type === (isAiff ? 'SSND' : 'data')) {
      if (coding === 'frames') return (await framesSeconds(reader, start)) ?? 0
      chunks.push({ start, saidBytes })
    }
    position = start + saidBytes + (saidBytes % 2)
  }
  if (coding === undefined || coding === 'frames' || !(coding > 0)) return 0
  const size = await reader.size()
  return chunks.reduce((sum, chunk) => sum + bytesOf(chunk, size), 0) / coding
}

/** Players play a recording from a pipe, which states no length or an impossible one, to the end. */
function bytesOf({ start, saidBytes }: SampleChunk, size: number): number {
  const left = Math.max(0, size - start)
  return saidBytes === 0 ? left : Math.min(saidBytes, left)
}

/** Players differ in which of two formats they use. */
function slower(before: Coding | undefined, next: Coding): Coding {
  if (before === 'frames' || next === 'frames') return 'frames'
  return before === undefined || before === 0 ? next : Math.min(before, next)
}

/** @param head a chunk `fmt `, including its header */
function wavCoding(head: Buffer): Coding {
  const format = head.readUInt16LE(8)
  const isExtended = format === extended && head.length >= 34
  const channels = head.readUInt16LE(10)
  const hertz = head.readUInt32LE(12)
  return codingOf(isExtended ? head.readUInt16LE(32) : format, {
    channels,
    hertz,
    blockBytes: head.readUInt16LE(20),
    bits: head.readUInt16LE(22),
  })
}

interface WavFields {
  readonly channels: number
  readonly hertz: number
  readonly blockBytes: number
  readonly bits: number
}

/** The formats of https://www.rfc-editor.org/rfc/rfc2361 that are still written. */
function codingOf(format: number, { channels, hertz, blockBytes, bits }: WavFields): Coding {
  if (ofFrames.has(format)) return 'frames'
  const samplesPerSecond = channels * hertz
  switch (format) {
    case 0x01: // PCM
    case 0x03: // floats
      return (samplesPerSecond * bits) / 8
    case 0x06: // A-law
    case 0x07: // µ-law
      return samplesPerSecond
    case 0x02: // ADPCM: each block begins with a header of 7 bytes a channel, which holds two samples of it
      return blockRate(hertz, blockBytes, ((blockBytes / channels - 7) * 8) / 4 + 2)
    case 0x11: // ADPCM of IMA: of 4 bytes a channel, which hold one
      return blockRate(hertz, blockBytes, ((blockBytes / channels - 4) * 8) / (bits === 0 ? 4 : bits) + 1)
    case 0x31: // GSM 6.10
      return blockRate(hertz, 65, 320)
    default:
      throw unknownCoding(`0x${format.toString(16)}`)
  }
}

function blockRate(hertz: number, blockBytes: number, samples: number): number {
  return samples > 0 && Number.isFinite(samples) ? (hertz * blockBytes) / samples : 0
}

/** The uncompressed types of AIFF-C; plain AIFF names none. */
const plainTypes = new Set([
  '',
  'NONE',
  'sowt',
  'twos',
  'raw ',
  'in24',
  'in32',
  'fl32',
  'fl64',
  'FL32',
  'FL64',
])
const logarithmic = new Set(['ulaw', 'ULAW', 'alaw', 'ALAW'])

/** @param head a chunk `COMM`, including its header */
function aiffCoding(head: Buffer, named: number): Coding {
  const type = named > 18 ? head.toString('latin1', 26, 30) : ''
  const channels = head.readUInt16BE(8)
  // Hertz as an 80-bit float: an exponent, and 64 bits of which the first 32 say enough.
  const hertz = head.readUInt32BE(18) * 2 ** (head.readUInt16BE(16) - 16_383 - 31)
  if (!Number.isFinite(hertz)) return 0
  if (plainTypes.has(type)) return (channels * hertz * head.readUInt16BE(14)) / 8
  if (logarithmic.has(type)) return channels * hertz
  if (type === 'ima4') return (channels * hertz * 34) / 64
  throw unknownCoding(JSON.stringify(type))
}

function unknownCoding(format: string): MediaUnreadableError {
  return new MediaUnreadableError(`Nobody here knows how long its samples of format ${format} play.`)
}
