/** Decoded content that can be read at positions: in memory, in a spool file, or while it passes by. */
export interface MediaSource {
  /**
   * The bytes from `position` on: `length` of them, fewer only at the end.
   * @throws MediaUnreadableError when they have passed by and were not kept
   */
  read(position: number, length: number): Promise<Buffer>
  /** How many bytes there are; of what passes by it is known at its end. */
  size(): Promise<number>
}

/** Bytes of a request's body, wherever they are kept. */
export interface BodyReader {
  readonly length: number
  read(position: number, length: number): Promise<Buffer>
}

/** The content begins as one thing and cannot be it: no reader of that format gets anything out of it. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError'
}

/** Bytes are needed that are not there to be read, or more of them than a measurement may take. */
export class MediaUnreadableError extends Error {
  override readonly name = 'MediaUnreadableError'
}

/** A body that is in memory whole. */
export function bodyInMemory(body: Buffer): BodyReader {
  return {
    length: body.length,
    read: (position, length) => Promise.resolve(body.subarray(position, position + length)),
  }
}

/** The part of a body that is a file of a form. */
export function spanSource(body: BodyReader, start: number, length: number): MediaSource {
  return {
    size: () => Promise.resolve(length),
    read(position, wanted) {
      const count = Math.max(0, Math.min(wanted, length - position))
      return count === 0 ? Promise.resolve(Buffer.alloc(0)) : body.read(start + position, count)
    },
  }
}
