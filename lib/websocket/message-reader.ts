import type { Duplex } from 'node:stream'
import { FrameCutter } from './frame-cutter.ts'
import { FrameChecker } from './web-socket-frames.ts'
import { SessionError } from './session-error.ts'

/** One message of a session, or one control frame. */
export interface Message {
  readonly kind: 'data' | 'control' | 'close'
  /** Its frames as they came, with all that came between them. */
  readonly frames: Buffer
  /** What the message says, unmasked; empty for control frames. */
  readonly data: Buffer
}

export interface MessageLimits {
  /** Clients mask what they send, servers do not. */
  readonly from: 'client' | 'provider'
  readonly messageBytesMax: number
  /** Told how many bytes more, or fewer, are held. May throw to say that it is too much. */
  readonly onHeld: (bytes: number) => void
}

/** Fragments of one message: more say nothing that fewer could not. */
const fragmentsMax = 4096
const noData = Buffer.alloc(0)

/**
 * Cuts a stream of bytes at the boundaries of messages. The bytes stay as they came; a copy of them is read
 * by ws, which checks what RFC 6455 asks of frames. What is held is at most one message.
 */
export class MessageReader {
  readonly #cutter: FrameCutter
  readonly #checker: FrameChecker
  readonly #limits: MessageLimits
  #frames: Buffer[] = []
  #framesBytes = 0
  #heldBytes = 0

  constructor(limits: MessageLimits) {
    this.#limits = limits
    this.#cutter = new FrameCutter(limits.messageBytesMax)
    this.#checker = new FrameChecker(limits)
  }

  /**
   * Messages until the stream ends.
   * @throws SessionError for what is no WebSocket, or too long
   */
  async *read(stream: Duplex): AsyncGenerator<Message> {
    const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    try {
      for await (const chunk of chunks) yield* this.push(chunk)
    } finally {
      this.#release()
    }
  }

  /** @throws SessionError */
  *push(chunk: Buffer): Generator<Message> {
    for (const frame of this.#cutter.push(chunk)) {
      const found = this.#checker.check(frame.bytes)
      this.#frames.push(frame.bytes)
      this.#framesBytes += frame.bytes.length
      this.#hold(this.#framesBytes + this.#cutter.heldBytes)
      if (this.#frames.length > fragmentsMax) {
        throw new SessionError(1008, `A message came in more than ${fragmentsMax} frames.`)
      }
      // A control frame may stand between two of a message, and keeps its place there.
      const isInMessage = this.#checker.isInMessage
      if (isInMessage && found.kind !== 'close') continue
      const frames = this.#frames.length === 1 ? frame.bytes : Buffer.concat(this.#frames)
      this.#frames = []
      this.#framesBytes = 0
      yield { kind: found.kind, frames, data: found.data ?? noData }
    }
    this.#hold(this.#framesBytes + this.#cutter.heldBytes)
    const bytes = this.#heldBytes
    if (bytes > this.#limits.messageBytesMax + fragmentsMax * 14) throw tooLong(this.#limits.messageBytesMax)
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
