import { SessionError } from './session-error.ts'

/** A whole frame (RFC 6455 section 5.2), as it came. */
export interface Frame {
  readonly bytes: Buffer
}

/** The longest head of a frame: two bytes, a length of eight, a mask of four. */
const headBytesMax = 14

/** Cuts a stream of bytes into frames by their heads. Nothing is unmasked, changed or copied twice. */
export class FrameCutter {
  readonly #frameBytesMax: number
  #pieces: Buffer[] = []
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
        const head =
          this.#heldBytes === 0 ? rest : Buffer.concat([...this.#pieces, rest.subarray(0, headBytesMax)])
        this.#frameBytes = frameLength(head, this.#frameBytesMax)
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
      const bytes = rest.subarray(0, missing)
      yield { bytes: this.#heldBytes === 0 ? bytes : Buffer.concat([...this.#pieces, bytes]) }
      this.#pieces = []
      this.#heldBytes = 0
      this.#frameBytes = undefined
      rest = rest.subarray(missing)
    }
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#heldBytes += piece.length
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
