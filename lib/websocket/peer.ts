import type { Duplex } from 'node:stream'
import { MessageReader, type Message, type MessageLimits } from './message-reader.ts'
import { closeFrame, pongFrame, textFrame } from './web-socket-frames.ts'

/** One end of a session: what it sends, message by message, and how it is written to. */
export class Peer {
  readonly messages: AsyncGenerator<Message>
  readonly #stream: Duplex
  readonly #by: 'client' | 'server'
  readonly closed: Promise<void>

  /** @param limits of what is read; what is written is masked to a provider and bare to a client */
  constructor(stream: Duplex, limits: MessageLimits) {
    this.#stream = stream
    this.#by = limits.from === 'client' ? 'server' : 'client'
    this.messages = new MessageReader(limits).read(stream)
    this.closed = new Promise(resolve => {
      if (stream.closed) resolve()
      else stream.once('close', () => resolve())
    })
    // Whoever reads or waits learns of it; an error without a listener would end the process.
    stream.on('error', () => undefined)
  }

  /** Resolves when more may be written, or nobody takes it any more. */
  async write(bytes: Buffer): Promise<void> {
    if (!this.#stream.writable || this.#stream.write(bytes)) return
    await new Promise<void>(resolve => {
      const done = (): void => {
        this.#stream.off('drain', done)
        this.#stream.off('close', done)
        resolve()
      }
      this.#stream.once('drain', done)
      this.#stream.once('close', done)
    })
  }

  async writeText(text: Buffer): Promise<void> {
    await this.write(textFrame(text, this.#by))
  }

  async writePong(ping: Buffer): Promise<void> {
    await this.write(pongFrame(ping, this.#by))
  }

  /** Says goodbye. What comes after it is written in vain. */
  close(code: number, reason: string): void {
    if (this.#stream.writable) this.#stream.end(closeFrame(code, reason, this.#by))
  }

  /** What still comes is of no interest, but the goodbye behind it must not be lost to a reset. */
  discard(): void {
    // A reader that rests between two messages would keep the stream from flowing.
    this.messages.return(undefined).then(
      () => this.#stream.resume(),
      () => this.#stream.resume(),
    )
  }

  end(): void {
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }
}
