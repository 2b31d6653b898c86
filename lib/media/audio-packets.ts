import { flacFrameSeconds, flacHeaderBytesMax } from '../http/audio-frames.ts'
import { believedSeconds } from './media-reader.ts'

/** The playing time of packets of one coding, in any container. */
export interface AudioPackets {
  /** The most that the packet at this position plays; `end` may be beyond the available bytes. */
  secondsOf(bytes: Buffer, start: number, end: number): number
  /** The share of that time that it plays at least; all of it by default. */
  readonly leastShare?: number
}

/** The length that a container states, unless its packets are clearly longer. */
export function packetsSeconds(
  saidSeconds: number,
  heldSeconds: number,
  packets: AudioPackets | undefined,
): number {
  const leastSeconds = heldSeconds * (packets?.leastShare ?? 1)
  return believedSeconds(saidSeconds, leastSeconds) === leastSeconds ? heldSeconds : saidSeconds
}

/** Milliseconds of a frame by the configuration of its packet (RFC 6716, 3.1): speech, both, and music. */
const speechFrames = [10, 20, 40, 60]
const mixedFrames = [10, 20]
const musicFrames = [2.5, 5, 10, 20]

/** A packet has one frame, two, or the number in its second byte. */
export const opusPackets: AudioPackets = {
  secondsOf(bytes, start) {
    const first = bytes[start] ?? 0
    const config = first >> 3
    const frames = config < 12 ? speechFrames : config < 16 ? mixedFrames : musicFrames
    const milliseconds = frames[config % frames.length] as number
    const code = first & 3
    const count = code === 0 ? 1 : code < 3 ? 2 : (bytes[start + 1] ?? 0) & 63
    return (count * milliseconds) / 1000
  },
}

/**
 * A packet is half a block of one of two sizes. Header packets begin with an odd byte.
 * @param sizes both block sizes in one byte, as exponents
 */
export function vorbisPackets(sizes: number, hertz: number): AudioPackets {
  const [short, long] = [2 ** (sizes & 15), 2 ** (sizes >> 4)]
  const seconds = long / 2 / hertz
  return {
    secondsOf: (bytes, start) => ((bytes[start] ?? 1) % 2 === 0 ? seconds : 0),
    leastShare: Math.min(1, short / long),
  }
}

/** A packet is a frame, or a header, which has no playing time. */
export function flacPackets(hertz: number): AudioPackets {
  return {
    secondsOf(bytes, start) {
      const header = Buffer.alloc(flacHeaderBytesMax)
      bytes.copy(header, 0, start, start + flacHeaderBytesMax)
      return flacFrameSeconds(header, 0, hertz) ?? 0
    },
  }
}
