import { SessionError } from './session-error.ts'

/** A whole frame (RFC 6455 section 5.2), as it came. */
export interface Frame {
  readonly bytes: Buffer
}

/** The longest head of a frame: two bytes, a length of eight, a mask of four. */
const headBytesMax = 14

/** What is set aside at first for a frame that is not whole: its length is only what its sender says. */
const bufferBytesMin = 4096

/** Cuts a stream of bytes into frames by their heads. Nothing is unmasked or changed. */
export class FrameCutter {
  readonly #frameBytesMax: number
  /** The beginning of a frame that is not whole: it grows with what comes, however small the pieces are. */
  #buffer = Buffer.alloc(0)
  #heldBytes = 0
  /** Of the frame that has begun, its head included; undefined while the head is not whole. */
  #frameBytes: number | undefined

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax
  }

  /** Bytes of a frame that is not whole yet. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** @throws SessionError 1009, by the head alone, for a frame that is too long */
  *push(chunk: Buffer): Generator<Frame> {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#frameBytes === undefined) {
        this.#frameBytes = frameLength(this.#head(rest), this.#frameBytesMax)
        if (this.#frameBytes === undefined) {
          this.#keep(rest)
          return
        }
      }
      const missing = this.#frameBytes - this.#heldBytes
      if (rest.length < missing) {
        this.#keep(rest)
        return
      }
      yield { bytes: this.#whole(rest.subarray(0, missing)) }
      rest = rest.subarray(missing)
    }
  }

  #head(rest: Buffer): Buffer {
    if (this.#heldBytes === 0) return rest
    return Buffer.concat([this.#buffer.subarray(0, this.#heldBytes), rest.subarray(0, headBytesMax)])
  }

  #whole(last: Buffer): Buffer {
    this.#frameBytes = undefined
    if (this.#heldBytes === 0) return last
    this.#keep(last)
    const bytes = this.#buffer.subarray(0, this.#heldBytes)
    this.#buffer = Buffer.alloc(0)
    this.#heldBytes = 0
    return bytes
  }

  #keep(piece: Buffer): void {
    const length = this.#heldBytes + piece.length
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(bufferBytesMin, length, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.#heldBytes)
      this.#buffer = grown
    }
    piece.copy(this.#buffer, this.#heldBytes)
    this.#heldBytes = length
  }
}

/** How long the frame is that begins here, head and all; undefined while its head is not whole. */
function frameLength(head: Buffer, frameBytesMax: number): number | undefined {
  const second = head[1]
  if (second === undefined) return undefined
  const maskBytes = (second & 0x80) === 0 ? 0 : 4
  const short = second & 0x7f
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
  if (head.length < 2 + lengthBytes) return undefined
  const length =
    short === 127 ? Number(head.readBigUInt64BE(2)) : short === 126 ? head.readUInt16BE(2) : short
  if (length > frameBytesMax) {
    throw new SessionError(
      1009,
      `A frame of ${length} bytes was announced, and at most ${frameBytesMax} are accepted.`,
    )
  }
  return 2 + lengthBytes + maskBytes + length
}
