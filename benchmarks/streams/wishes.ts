import type { Format } from './frames.ts'

/** The form of a stream from the upstream. */
export interface StreamWishes {
  readonly format: Format
  /** The size of one frame, without its chunked framing; as near as its format's other bytes allow. */
  readonly frameBytes: number
  readonly framesPerSecond: number
  /** Frames that are written together. */
  readonly joined: number
  /** Pieces in which a frame is written, each some milliseconds after the one before. */
  readonly pieces: number
}

const prefix = 'bench:'

/** As a text that every gateway relays in a request's body. */
export function writeWishes({ format, frameBytes, framesPerSecond, joined, pieces }: StreamWishes): string {
  return `${prefix}${format},${frameBytes},${framesPerSecond},${joined},${pieces}`
}

/** @throws Error for a body without one */
export function readWishes(body: string): StreamWishes {
  const found = /bench:(\w+),(\d+),(\d+),(\d+),(\d+)/.exec(body)
  if (found === null) throw new Error('The request does not say what stream it wants.')
  const [frameBytes = 0, framesPerSecond = 0, joined = 0, pieces = 0] = found.slice(2).map(Number)
  return { format: found[1] as Format, frameBytes, framesPerSecond, joined, pieces }
}
