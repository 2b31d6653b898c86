import type { Socket } from 'node:net'

/** Reads a handshake from a socket piece by piece, and gives the socket back as it was. */
export class SocketReader {
  readonly #socket: Socket
  #bytes: Buffer = Buffer.alloc(0)
  #wanted: (() => void) | undefined
  #failure: Error | undefined
  readonly #onData = (chunk: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    this.#wanted?.()
  }
  readonly #onError = (error: Error): void => this.#fail(error)
  readonly #onClose = (): void => this.#fail(new Error('The connection was closed.'))

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', this.#onData).on('error', this.#onError).on('end', this.#onClose)
    socket.on('close', this.#onClose)
  }

  async read(byteCount: number): Promise<Buffer> {
    while (this.#bytes.length < byteCount) await this.#more()
    return this.#take(byteCount)
  }

  /** Everything up to the delimiter and with it. */
  async readThrough(delimiter: string, bytesMax: number): Promise<Buffer> {
    for (;;) {
      const found = this.#bytes.indexOf(delimiter)
      if (found !== -1) return this.#take(found + delimiter.length)
      if (this.#bytes.length > bytesMax) throw new Error(`The answer is over ${bytesMax} bytes.`)
      await this.#more()
    }
  }

  /** Hands the socket on; what came after the handshake stays in it. */
  release(): void {
    this.#socket.off('data', this.#onData).off('error', this.#onError).off('end', this.#onClose)
    this.#socket.off('close', this.#onClose)
    this.#socket.pause()
    if (this.#bytes.length > 0) this.#socket.unshift(this.#bytes)
  }

  #take(byteCount: number): Buffer {
    const taken = this.#bytes.subarray(0, byteCount)
    this.#bytes = this.#bytes.subarray(byteCount)
    return taken
  }

  async #more(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    await new Promise<void>(resolve => (this.#wanted = resolve))
    this.#wanted = undefined
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#wanted?.()
  }
}
