import { mpegFrameSeconds } from './audio-frames.ts'
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
  entry: 0xae,
  number: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  hertz: 0xb5,
} as const

/** More of them no recording has. */
const tracksMax = 64
/** So much of a block that the first of its frames shows what it is. */
export const blockHeadBytes = 1024
/** Two bits of a block's flags: how the sizes of its frames are told; 0 where it has one. */
const lacings = { xiph: 1, fixed: 2 } as const

interface Track {
  codec: string
  codecPrivate: Buffer
  hertz: number
  /** Known when its first block comes. */
  packets?: AudioPackets | undefined
  heldSeconds: number
}

/** How long the audio of a video plays by its blocks, whose times and scale a file may say as it likes. */
export class MatroskaAudio {
  readonly #tracks = new Map<number, Track>()
  #track = newTrack()

  beginTrack(): void {
    this.#track = newTrack()
  }

  readMember(id: number, payload: Buffer): void {
    const track = this.#track
    if (id === trackIds.number) {
      if (this.#tracks.size >= tracksMax) throw new MediaUnreadableError('It has too many tracks.')
      this.#tracks.set(payload.length === 0 ? 0 : payload.readUIntBE(0, Math.min(6, payload.length)), track)
    } else if (id === trackIds.codec) track.codec = payload.toString('latin1')
    else if (id === trackIds.codecPrivate) track.codecPrivate = Buffer.from(payload)
    else if (id === trackIds.hertz && payload.length === 4) track.hertz = payload.readFloatBE(0)
    else if (id === trackIds.hertz && payload.length === 8) track.hertz = payload.readDoubleBE(0)
  }

  /** @param at where the number of the track ends, behind which are two bytes of time and the flags */
  readBlock(track: number, head: Buffer, at: number): void {
    const found = this.#tracks.get(track)
    if (found === undefined || head.length < at + 4) return
    const packets = (found.packets ??= packetsOf(found))
    if (packets === undefined) return
    const { frames, start } = framesOf(head, at + 2)
    found.heldSeconds += frames * packets.secondsOf(head, start)
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
  return { codec: '', codecPrivate: Buffer.alloc(0), hertz: 8000, heldSeconds: 0 }
}

/** How many frames a block has, and where the first begins; the others are taken to be like it. */
function framesOf(head: Buffer, flagsAt: number): { readonly frames: number; readonly start: number } {
  const lacing = ((head[flagsAt] as number) >> 1) & 3
  if (lacing === 0) return { frames: 1, start: flagsAt + 1 }
  const frames = (head[flagsAt + 1] as number) + 1
  let start = flagsAt + 2
  if (lacing === lacings.fixed) return { frames, start }
  for (let frame = 1; frame < frames; frame++) {
    if (lacing === lacings.xiph) {
      while (head[start] === 255) start += 1
      start += 1
    } else start += Math.max(1, Math.clz32(head[start] ?? 1) - 23)
  }
  return { frames, start }
}

/** Undefined where the codec says nothing of how long its frames play. */
function packetsOf({ codec, codecPrivate, hertz }: Track): AudioPackets | undefined {
  if (codec.startsWith('A_OPUS')) return opusPackets
  if (codec.startsWith('A_MPEG/')) return { secondsOf: mpegFrameSeconds }
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
