import type { Duplex } from 'node:stream'
import { turns } from '../bodies/turns.ts'
import { steadyClock } from '../platform/clock.ts'
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
  /** What a ping says. */
  readonly ping?: Buffer | undefined
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
/** Frames that are read at a time, before others have their turn of the event loop. */
const framesAtOnce = 32
/**
 * Frames that say nothing, which no hold is placed for: pings, pongs, empty messages. SDKs send one in half a minute.
 * A client may send so many at once, and so many a second from then on.
 */
const emptyFramesMax = 200
const emptyFramesPerSecond = 20
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
  #emptyFramesLeft = emptyFramesMax
  #emptyFrameAt = steadyClock.now()

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
      for await (const chunk of chunks) {
        for (const message of this.#read(chunk)) {
          // What comes in one chunk may be ten thousand messages, each with its work.
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
   * The messages that are whole with a chunk.
   * @throws SessionError
   */
  *push(chunk: Buffer): Generator<Message> {
    for (const message of this.#read(chunk)) if (message !== undefined) yield message
  }

  /** Undefined now and then, where there is no message for long. */
  *#read(chunk: Buffer): Generator<Message | undefined> {
    let count = 0
    for (const frame of this.#cutter.push(chunk)) {
      if ((count += 1) % framesAtOnce === 0) yield undefined
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
