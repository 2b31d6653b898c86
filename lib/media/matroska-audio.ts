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

/** The members of a track by which its audio is read. */
export const trackIds = {
  number: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  hertz: 0xb5,
  channels: 0x9f,
  bits: 0x6264,
} as const

/** More of them no recording has. */
const tracksMax = 64
/** So much of a block tells which track it is of, and how its frames are laced. */
export const blockHeadBytes = 1024
/** Of a longer block the rest is taken to be like what came before. */
export const audioBlockBytesMax = 4_194_304
/** So much of a frame shows how long it plays. */
const frameHeadBytes = 16
/** Two bits of a block's flags: how the sizes of its frames are told; 0 where it has one. */
const lacings = { xiph: 1, fixed: 2 } as const

interface Track {
  codec: string
  codecPrivate: Buffer
  hertz: number
  channels: number
  bits: number
  /** Known when its first block comes. */
  packets?: AudioPackets | undefined
  /** Of its frames so far. */
  longestSeconds: number
  heldSeconds: number
}

/** How long the audio of a video plays by its blocks, whose times and scale a file may say as it likes. */
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

  /** Whether the frames of a block are told by more than its head. */
  isReadWhole(track: number, head: Buffer, at: number): boolean {
    const found = this.#tracks.get(track)
    if (found === undefined || !isAudio(found)) return false
    return found.codec.startsWith('A_MPEG/') || lacingOf(head, at + 2) !== 0
  }

  /**
   * @param at where the number of the track ends, behind which are two bytes of time and the flags
   * @param size how many bytes the block has, of which only the first may be there
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
      // What is not there is taken to be like the longest before it.
      found.longestSeconds = Math.max(
        found.longestSeconds,
        isThere ? packets.secondsOf(block, start, end) : 0,
      )
      seconds += isThere ? packets.secondsOf(block, start, end) : found.longestSeconds
    }
    found.heldSeconds += seconds
  }

  /** The codec of a track of audio of which nobody here knows how long its frames play. */
  get unknownCodec(): string | undefined {
    return this.#unknownCodec
  }

  /** As long as was said, unless the blocks of a track hold more. */
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

/** Where the frames of a block stand: one, or as many as its lacing tells, the last of which takes what is left. */
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
  /** Of all frames but the last. */
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

/** The first is told as a number, and each other by how it differs from the one before. */
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

/** Undefined where the codec says nothing of how long its frames play. */
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
