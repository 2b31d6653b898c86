import type { Writable } from 'node:stream'
import { Receiver, Sender } from 'ws'
import { SessionError } from './close-codes.ts'

declare module 'ws' {
  /** Exported by ws, but missing in @types/ws. */
  export class Receiver extends Writable {
    constructor(options: {
      readonly isServer: boolean
      readonly maxPayload: number
      readonly allowSynchronousEvents: boolean
    })
  }
  // oxlint-disable-next-line typescript/no-extraneous-class -- it is a class there
  export class Sender {
    static frame(data: Buffer, options: SenderFrameOptions): (Buffer | string)[]
  }
}

interface SenderFrameOptions {
  readonly fin: boolean
  readonly opcode: number
  readonly mask: boolean
  readonly rsv1: boolean
  /** The data must not be masked in place. */
  readonly readOnly: boolean
}

/** What kind of frame was read. */
export interface CheckedFrame {
  readonly kind: 'data' | 'control' | 'close'
  /** The content of the message that this frame completes. */
  readonly data?: Buffer
  /** The content of a ping, which its pong must repeat. */
  readonly ping?: Buffer
}

const closeCodes: Readonly<Record<string, number>> = {
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 1009,
  WS_ERR_INVALID_UTF8: 1007,
}

/** Reads copies of frames with ws: masks, lengths, the order of fragments, UTF-8. */
export class FrameChecker {
  readonly #receiver: Receiver
  #found: CheckedFrame = { kind: 'data' }
  /** A message has begun and is incomplete. */
  isInMessage = false

  constructor(options: { readonly from: 'client' | 'provider'; readonly messageBytesMax: number }) {
    this.#receiver = new Receiver({
      isServer: options.from === 'client',
      maxPayload: options.messageBytesMax,
      allowSynchronousEvents: true,
    })
    this.#receiver.on('message', (data: Buffer) => {
      this.isInMessage = false
      this.#found = { kind: 'data', data }
    })
    this.#receiver.on('ping', (ping: Buffer) => (this.#found = { kind: 'control', ping }))
    this.#receiver.on('pong', () => (this.#found = { kind: 'control' }))
    this.#receiver.on('conclude', () => (this.#found = { kind: 'close' }))
    // `check` throws the error, because it belongs to a frame.
    this.#receiver.on('error', () => undefined)
  }

  /** @throws SessionError for a violation of RFC 6455 */
  check(frame: Buffer): CheckedFrame {
    const wasInMessage = this.isInMessage
    this.isInMessage = true
    this.#found = { kind: 'data' }
    // A masked frame is unmasked in place.
    this.#receiver.write(Buffer.from(frame))
    const error: NodeJS.ErrnoException | null = this.#receiver.errored
    if (error !== null)
      throw new SessionError(closeCodes[error.code ?? ''] ?? 1002, error.message, { cause: error })
    if (this.#found.kind !== 'data') this.isInMessage = wasInMessage
    return this.#found
  }
}

/** One text frame. Clients mask. */
export function textFrame(text: Buffer, by: 'client' | 'server'): Buffer {
  return frame(text, 1, by)
}

/** A pong frame. */
export function pongFrame(data: Buffer, by: 'client' | 'server'): Buffer {
  return frame(data, 10, by)
}

/** A close frame. The reason is limited to 123 bytes. */
export function closeFrame(code: number, reason: string, by: 'client' | 'server'): Buffer {
  const bytes = Buffer.from(reason)
  let end = Math.min(bytes.length, 123)
  // Not in the middle of a character.
  while (end < bytes.length && end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--
  const payload = Buffer.alloc(2 + end)
  payload.writeUInt16BE(code)
  bytes.copy(payload, 2, 0, end)
  return frame(payload, 8, by)
}

function frame(data: Buffer, opcode: number, by: 'client' | 'server'): Buffer {
  const pieces = Sender.frame(data, { fin: true, opcode, mask: by === 'client', rsv1: false, readOnly: true })
  return Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
