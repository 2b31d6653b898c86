import type { Format } from './frames.ts'

/** How a stream comes from the upstream. */
export interface StreamWishes {
  readonly format: Format
  /** Of one frame, without its framing by chunks; as near as its format's other bytes allow. */
  readonly frameBytes: number
  readonly framesPerSecond: number
  /** Frames that are written at once. */
  readonly joined: number
  /** Pieces in which a frame is written, each some milliseconds after the one before. */
  readonly pieces: number
}

const prefix = 'bench:'

/** As a text that every gateway passes on in a request's body. */
export function writeWishes({ format, frameBytes, framesPerSecond, joined, pieces }: StreamWishes): string {
  return `${prefix}${format},${frameBytes},${framesPerSecond},${joined},${pieces}`
}

/** @throws Error for a body that holds none */
export function readWishes(body: string): StreamWishes {
  const found = /bench:(\w+),(\d+),(\d+),(\d+),(\d+)/.exec(body)
  if (found === null) throw new Error('The request does not say what stream it wants.')
  const [frameBytes = 0, framesPerSecond = 0, joined = 0, pieces = 0] = found.slice(2).map(Number)
  return { format: found[1] as Format, frameBytes, framesPerSecond, joined, pieces }
}
