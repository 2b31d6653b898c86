import { createDecoder, type Decoder } from '../http/decode.ts'
import type { Tap } from '../pipeline/plugin.ts'
import type { PluginTap } from '../plugin-api/plugin-api.ts'
import { TextPieces } from './text-pieces.ts'

const caps = { outputBytesMax: 2 * 1024 ** 3, ratioMax: 1000 }
/** Compressed bytes that wait to be decoded: a tap that falls further behind is dropped. */
const waitingBytesMax = 16 * 1_048_576

/** Feeds copies of a response to a plugin's tap. What the tap throws ends the watching and nothing else. */
export class ResponseTap implements Tap {
  readonly #onFailure: (error: unknown) => void
  #tap: PluginTap | undefined
  readonly #text: TextPieces | undefined
  readonly #decoder: Decoder | undefined
  #waitingBytes = 0

  constructor(tap: PluginTap, encoding: string, onFailure: (error: unknown) => void) {
    this.#tap = tap
    this.#onFailure = onFailure
    if (tap.onText === undefined) return
    const text = new TextPieces(piece => this.#tap?.onText?.(piece))
    this.#text = text
    this.#decoder = createDecoder(encoding, chunk => this.#guard(() => text.push(chunk)), caps)
    if (this.#decoder === undefined)
      this.#fail(new Error(`The encoding "${encoding}" cannot be read as text.`))
  }

  onData(chunk: Buffer): void {
    if (this.#tap === undefined) return
    this.#guard(() => this.#tap?.onData?.(new Uint8Array(chunk)))
    const written = this.#decoder?.write(chunk)
    if (!(written instanceof Promise)) return
    this.#waitingBytes += chunk.length
    void written.then(() => (this.#waitingBytes -= chunk.length))
    if (this.#waitingBytes > waitingBytesMax) this.#fail(new Error('It fell too far behind the response.'))
  }

  /** The response has ended. */
  async end(): Promise<void> {
    await this.#decoder?.end()
    if (this.#tap !== undefined) this.#guard(() => this.#text?.end())
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#tap === undefined) return
    this.#tap = undefined
    this.#onFailure(error)
  }
}
