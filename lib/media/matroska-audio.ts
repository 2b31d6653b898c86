import { mpegFramesSeconds } from '../http/audio-frames.ts'
import { aacFrames } from './iso-audio.ts'
import { MediaUnreadableError } from './media-reader.ts'
import {
  flacPackets,
  opusPackets,
  packetsSeconds,
  vorbisPackets,
  type AudioPackets,
} from './audio-packets.ts'

/** The members of a track that are needed to read its audio. */
export const trackIds = {
  number: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  hertz: 0xb5,
  channels: 0x9f,
  bits: 0x6264,
} as const

/** No recording has more tracks. */
const tracksMax = 64
/** This much of a block shows its track and how its frames are laced. */
export const blockHeadBytes = 1024
/** The rest of a longer block is assumed to be like what came before. */
export const audioBlockBytesMax = 4_194_304
/** This much of a frame shows its playing time. */
const frameHeadBytes = 16
/** Two bits of a block's flags: how the sizes of its frames are encoded; 0 for a single frame. */
const lacings = { xiph: 1, fixed: 2 } as const

interface Track {
  codec: string
  codecPrivate: Buffer
  hertz: number
  channels: number
  bits: number
  /** Known once its first block is read. */
  packets?: AudioPackets | undefined
  /** The longest of its frames so far. */
  longestSeconds: number
  heldSeconds: number
}

/** The playing time of a video's audio by its blocks, since a file may state any times and scale. */
export class MatroskaAudio {
  readonly #tracks = new Map<number, Track>()
  #track = newTrack()
  #unknownCodec: string | undefined

  beginTrack(): void {
    this.#track = newTrack()
  }

  readMember(id: number, payload: Buffer): void {
    const track = this.#track
    if (id === trackIds.number) {
      if (this.#tracks.size >= tracksMax) throw new MediaUnreadableError('It has too many tracks.')
      this.#tracks.set(unsignedIn(payload), track)
    } else if (id === trackIds.codec) track.codec = payload.toString('latin1')
    else if (id === trackIds.codecPrivate) track.codecPrivate = Buffer.from(payload)
    else if (id === trackIds.channels) track.channels = unsignedIn(payload)
    else if (id === trackIds.bits) track.bits = unsignedIn(payload)
    else if (id === trackIds.hertz && payload.length === 4) track.hertz = payload.readFloatBE(0)
    else if (id === trackIds.hertz && payload.length === 8) track.hertz = payload.readDoubleBE(0)
  }

  /** Whether a block's frames depend on more than its beginning. */
  isReadWhole(track: number, head: Buffer, at: number): boolean {
    const found = this.#tracks.get(track)
    if (found === undefined || !isAudio(found)) return false
    return found.codec.startsWith('A_MPEG/') || lacingOf(head, at + 2) !== 0
  }

  /**
   * @param at the end of the track number, followed by two bytes of time and the flags
   * @param size the block's length in bytes, of which only the first may be available
   */
  readBlock(track: number, block: Buffer, at: number, size: number): void {
    const found = this.#tracks.get(track)
    if (found === undefined || block.length < at + 4) return
    const packets = (found.packets ??= packetsOf(found))
    if (packets === undefined) {
      if (isAudio(found)) this.#unknownCodec = found.codec
      return
    }
    let seconds = 0
    for (const { start, end } of framesOf(block, at + 2, size)) {
      const isThere = start + frameHeadBytes <= block.length || end <= block.length
      // Missing frames are assumed to be like the longest before them.
      found.longestSeconds = Math.max(
        found.longestSeconds,
        isThere ? packets.secondsOf(block, start, end) : 0,
      )
      seconds += isThere ? packets.secondsOf(block, start, end) : found.longestSeconds
    }
    found.heldSeconds += seconds
  }

  /** The codec of an audio track with an unknown playing time of frames. */
  get unknownCodec(): string | undefined {
    return this.#unknownCodec
  }

  /** The stated length, unless the blocks of a track are longer. */
  secondsBeside(saidSeconds: number): number {
    let seconds = saidSeconds
    for (const { heldSeconds, packets } of this.#tracks.values())
      seconds = Math.max(seconds, packetsSeconds(saidSeconds, heldSeconds, packets))
    return seconds
  }
}

function newTrack(): Track {
  return {
    codec: '',
    codecPrivate: Buffer.alloc(0),
    hertz: 8000,
    channels: 1,
    bits: 0,
    longestSeconds: 0,
    heldSeconds: 0,
  }
}

function unsignedIn(payload: Buffer): number {
  return payload.length === 0 ? 0 : payload.readUIntBE(0, Math.min(6, payload.length))
}

function isAudio({ codec }: Track): boolean {
  return codec.startsWith('A_')
}

function lacingOf(block: Buffer, flagsAt: number): number {
  return ((block[flagsAt] ?? 0) >> 1) & 3
}

interface FramePlace {
  readonly start: number
  readonly end: number
}

/** The positions of a block's frames: one, or the number in its lacing; the last frame gets the rest. */
function framesOf(block: Buffer, flagsAt: number, size: number): readonly FramePlace[] {
  const lacing = lacingOf(block, flagsAt)
  if (lacing === 0) return [{ start: flagsAt + 1, end: size }]
  const count = (block[flagsAt + 1] ?? 0) + 1
  const head = flagsAt + 2
  if (lacing === lacings.fixed) {
    const each = Math.floor((size - head) / count)
    return Array.from({ length: count }, (_, frame) => ({
      start: head + frame * each,
      end: head + (frame + 1) * each,
    }))
  }
  const { sizes, end } =
    lacing === lacings.xiph ? xiphSizes(block, head, count) : ebmlSizes(block, head, count)
  const places: FramePlace[] = []
  let start = end
  for (const bytes of sizes) {
    places.push({ start, end: start + bytes })
    start += bytes
  }
  return [...places, { start, end: size }]
}

interface LacedSizes {
  /** The sizes of all frames but the last. */
  readonly sizes: readonly number[]
  readonly end: number
}

function xiphSizes(block: Buffer, start: number, count: number): LacedSizes {
  const sizes: number[] = []
  let at = start
  for (let frame = 1; frame < count; frame++) {
    let bytes = 0
    while (block[at] === 255) bytes += block[at++] as number
    sizes.push(bytes + (block[at++] ?? 0))
  }
  return { sizes, end: at }
}

/** The first size is a number, each other one its difference to the one before. */
function ebmlSizes(block: Buffer, start: number, count: number): LacedSizes {
  const sizes: number[] = []
  let at = start
  let bytes = 0
  for (let frame = 1; frame < count; frame++) {
    const first = block[at] ?? 0x80
    const length = first === 0 ? 1 : Math.clz32(first) - 23
    let told = first & (0xff >> length)
    for (let next = 1; next < length; next++) told = told * 256 + (block[at + next] ?? 0)
    at += length
    bytes = frame === 1 ? told : bytes + told - (2 ** (7 * length - 1) - 1)
    sizes.push(Math.max(0, bytes))
  }
  return { sizes, end: at }
}

/** Undefined if the codec does not determine the playing time of its frames. */
function packetsOf({ codec, codecPrivate, hertz, channels, bits }: Track): AudioPackets | undefined {
  if (codec.startsWith('A_OPUS')) return opusPackets
  if (codec.startsWith('A_MPEG/')) return { secondsOf: mpegFramesSeconds }
  if (codec.startsWith('A_PCM/')) {
    const bytesPerSecond = (Math.max(1, channels) * (bits === 0 ? 16 : bits) * hertz) / 8
    return { secondsOf: (_block, start, end) => Math.max(0, end - start) / bytesPerSecond }
  }
  if (codec.startsWith('A_FLAC')) return flacPackets(hertz)
  if (codec.startsWith('A_VORBIS')) {
    const at = codecPrivate.indexOf('\u0001vorbis', 0, 'latin1')
    if (at === -1 || codecPrivate.length < at + 29) return undefined
    return vorbisPackets(codecPrivate[at + 28] as number, codecPrivate.readUInt32LE(at + 12))
  }
  if (!codec.startsWith('A_AAC')) return undefined
  const config = Buffer.alloc(6)
  codecPrivate.copy(config)
  const frames = codecPrivate.length < 2 ? undefined : aacFrames(config.readUIntBE(0, 6), hertz)
  const seconds = frames === undefined ? 1024 / hertz : frames.samplesPerFrame / frames.rate
  return Number.isFinite(seconds) && seconds > 0 ? { secondsOf: () => seconds } : undefined
}
