import type { Duplex } from 'node:stream'
import { MessageReader, type Message, type MessageLimits } from './message-reader.ts'
import { closeFrame, pongFrame, textFrame } from './web-socket-frames.ts'

/** One end of a session: its messages, and the means to write to it. */
export class Peer {
  readonly messages: AsyncGenerator<Message>
  readonly #stream: Duplex
  readonly #by: 'client' | 'server'
  readonly closed: Promise<void>

  /** @param limits on what is read; what is written is masked for a provider and unmasked for a client */
  constructor(stream: Duplex, limits: MessageLimits) {
    this.#stream = stream
    this.#by = limits.from === 'client' ? 'server' : 'client'
    this.messages = new MessageReader(limits).read(stream)
    this.closed = new Promise(resolve => {
      if (stream.closed) resolve()
      else stream.once('close', () => resolve())
    })
    // Reads and writes report the error; without a listener it would end the process.
    stream.on('error', () => undefined)
  }

  /** Resolves when more may be written, or the stream has closed. */
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

  /** Sends a close frame and ends the stream. Later writes have no effect. */
  close(code: number, reason: string): void {
    if (this.#stream.writable) this.#stream.end(closeFrame(code, reason, this.#by))
  }

  /** Discards what still arrives; a reset instead could lose the close frame that was sent. */
  discard(): void {
    // A reader that pauses between two messages would keep the stream from flowing.
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
