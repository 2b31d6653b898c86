import type { Duplex } from 'node:stream'
import { turns } from '../bodies/turns.ts'
import { steadyClock } from '../platform/clock.ts'
import { FrameChecker } from './web-socket-frames.ts'
import { SessionError } from './close-codes.ts'

/** One message of a session, or one control frame. */
export interface Message {
  readonly kind: 'data' | 'control' | 'close'
  /** Its frames as received, including those in between. */
  readonly frames: Buffer
  /** The unmasked content; empty for control frames. */
  readonly data: Buffer
  /** The content of a ping. */
  readonly ping?: Buffer | undefined
}

export interface MessageLimits {
  /** Clients mask what they send, servers do not. */
  readonly from: 'client' | 'provider'
  readonly messageBytesMax: number
  /** Called with the change in the number of held bytes. May throw when it is too much. */
  readonly onHeld: (bytes: number) => void
}

/** How many fragments one message may have. */
const fragmentsMax = 4096
/** How many frames are read before other work gets a turn of the event loop. */
const framesAtOnce = 32
/**
 * Limits on empty frames, for which no hold is placed: pings, pongs, empty messages. SDKs send one every half a minute.
 * A client may send this many at once, and then this many a second.
 */
const emptyFramesMax = 200
const emptyFramesPerSecond = 20
const noData = Buffer.alloc(0)

/** A whole frame (RFC 6455 section 5.2), as received. */
interface Frame {
  readonly bytes: Buffer
}

/** The longest head of a frame: two bytes, a length of eight, a mask of four. */
const headBytesMax = 14

/** The initial buffer of an incomplete frame: its announced length is not trusted. */
const bufferBytesMin = 4096

/** Cuts a stream of bytes into frames by their heads. Nothing is unmasked or changed. */
class FrameCutter {
  readonly #frameBytesMax: number
  /** The start of an incomplete frame: it grows with what arrives, however small the pieces are. */
  #buffer = Buffer.alloc(0)
  /** Bytes of an incomplete frame. */
  heldBytes = 0
  /** The length of the current frame with its head; undefined while the head is incomplete. */
  #frameBytes: number | undefined

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax
  }

  /** @throws SessionError 1009 for a frame that is too long, as soon as its head says so */
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
      const missing = this.#frameBytes - this.heldBytes
      if (rest.length < missing) {
        this.#keep(rest)
        return
      }
      yield { bytes: this.#whole(rest.subarray(0, missing)) }
      rest = rest.subarray(missing)
    }
  }

  #head(rest: Buffer): Buffer {
    if (this.heldBytes === 0) return rest
    return Buffer.concat([this.#buffer.subarray(0, this.heldBytes), rest.subarray(0, headBytesMax)])
  }

  #whole(last: Buffer): Buffer {
    this.#frameBytes = undefined
    if (this.heldBytes === 0) return last
    this.#keep(last)
    const bytes = this.#buffer.subarray(0, this.heldBytes)
    this.#buffer = Buffer.alloc(0)
    this.heldBytes = 0
    return bytes
  }

  #keep(piece: Buffer): void {
    const length = this.heldBytes + piece.length
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(bufferBytesMin, length, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.heldBytes)
      this.#buffer = grown
    }
    piece.copy(this.#buffer, this.heldBytes)
    this.heldBytes = length
  }
}

/** The length of the frame that starts here, with its head; undefined while its head is incomplete. */
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

/**
 * Cuts a stream of bytes at the boundaries of messages. The bytes are unchanged; ws reads a copy of them and checks
 * them against RFC 6455. At most one message is held.
 */
export class MessageReader {
  readonly #cutter: FrameCutter
  readonly #checker: FrameChecker
  readonly #limits: MessageLimits
  #frames: Buffer[] = []
  #framesBytes = 0
  #heldBytes = 0
  #emptyFramesLeft = emptyFramesMax
  #emptyFrameAt = steadyClock.now()

  constructor(limits: MessageLimits) {
    this.#limits = limits
    this.#cutter = new FrameCutter(limits.messageBytesMax)
    this.#checker = new FrameChecker(limits)
  }

  /**
   * Messages until the stream ends.
   * @throws SessionError for bytes that are not a WebSocket's, or a message that is too long
   */
  async *read(stream: Duplex): AsyncGenerator<Message> {
    const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    try {
      for await (const chunk of chunks) {
        for (const message of this.#read(chunk)) {
          // One chunk may hold ten thousand messages, each with its work.
          const turn = turns.enter()
          if (turn !== undefined) await turn
          if (message !== undefined) yield message
        }
      }
    } finally {
      this.#release()
    }
  }

  /**
   * The messages that are complete with this chunk.
   * @throws SessionError
   */
  *push(chunk: Buffer): Generator<Message> {
    for (const message of this.#read(chunk)) if (message !== undefined) yield message
  }

  /** Yields undefined at intervals while many frames form no message. */
  *#read(chunk: Buffer): Generator<Message | undefined> {
    let count = 0
    for (const frame of this.#cutter.push(chunk)) {
      if ((count += 1) % framesAtOnce === 0) yield undefined
      const found = this.#checker.check(frame.bytes)
      this.#frames.push(frame.bytes)
      this.#framesBytes += frame.bytes.length
      this.#hold(this.#framesBytes + this.#cutter.heldBytes)
      if (this.#frames.length > fragmentsMax)
        throw new SessionError(1008, `A message came in more than ${fragmentsMax} frames.`)
      // A control frame may be between two frames of a message, and keeps its place there.
      const isInMessage = this.#checker.isInMessage
      if (isInMessage && found.kind !== 'close') continue
      const frames = this.#frames.length === 1 ? frame.bytes : Buffer.concat(this.#frames)
      this.#frames = []
      this.#framesBytes = 0
      if (this.#limits.from === 'client' && found.kind !== 'close') this.#countEmpty(found.data ?? noData)
      yield { kind: found.kind, frames, data: found.data ?? noData, ping: found.ping }
    }
    this.#hold(this.#framesBytes + this.#cutter.heldBytes)
    const bytes = this.#heldBytes
    if (bytes > this.#limits.messageBytesMax + fragmentsMax * 14) throw tooLong(this.#limits.messageBytesMax)
  }

  /** @throws SessionError 1008 */
  #countEmpty(data: Buffer): void {
    if (data.length > 0) return
    const now = steadyClock.now()
    const more = ((now - this.#emptyFrameAt) / 1000) * emptyFramesPerSecond
    this.#emptyFrameAt = now
    this.#emptyFramesLeft = Math.min(emptyFramesMax, this.#emptyFramesLeft + more) - 1
    if (this.#emptyFramesLeft < 0) {
      throw new SessionError(
        1008,
        `More than ${emptyFramesPerSecond} pings, pongs and empty messages a second are too many.`,
      )
    }
  }

  #hold(bytes: number): void {
    if (bytes === this.#heldBytes) return
    this.#limits.onHeld(bytes - this.#heldBytes)
    this.#heldBytes = bytes
  }

  #release(): void {
    this.#limits.onHeld(-this.#heldBytes)
    this.#heldBytes = 0
    this.#frames = []
  }
}

function tooLong(bytesMax: number): SessionError {
  return new SessionError(1009, `A message is longer than ${bytesMax} bytes, the most that is accepted.`)
}
