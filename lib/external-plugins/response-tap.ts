import { createDecoder, type Decoder } from '../http/decode.ts'
import type { Tap } from '../pipeline/plugin.ts'
import type { PluginTap } from '../plugin-api/plugin-api.ts'
import { StringDecoder } from 'node:string_decoder'

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

/** Read at once: with what was left open of the piece before, no piece is longer than 65,536 UTF-16 code units. */
const readBytes = 65_528

const escapes = /\\(?:u([\da-fA-F]{4})|(.))/gs
const meanings: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
/** An escape whose rest may be in the next bytes. */
const openEscape = /\\(?:u[\da-fA-F]{0,3})?$/

/**
 * Turns the bytes of JSON, a form or an event stream into the text in them, piece by piece, with the escapes of
 * JSON undone. Structure stays in the text: a guard that reads all of it misses nothing, whatever the body is.
 */
export class TextPieces {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onText: (piece: string) => void
  #open = ''

  /** @param onText may throw: what it throws comes out of `push` and `end` */
  constructor(onText: (piece: string) => void) {
    this.#onText = onText
  }

  push(bytes: Buffer): void {
    for (let start = 0; start < bytes.length; start += readBytes) {
      const text = this.#open + this.#decoder.write(bytes.subarray(start, start + readBytes))
      const whole = text.length - openLength(text)
      this.#open = text.slice(whole)
      this.#tell(text.slice(0, whole))
    }
  }

  end(): void {
    const text = this.#open + this.#decoder.end()
    this.#open = ''
    this.#tell(text)
  }

  #tell(text: string): void {
    if (text !== '') this.#onText(text.includes('\\') ? unescaped(text) : text)
  }
}

/** How many characters at the end belong to an escape that is not whole yet. */
function openLength(text: string): number {
  const found = openEscape.exec(text.slice(-5))
  if (found === null) return 0
  const start = text.length - found[0].length
  let backslashes = 0
  while (text[start - 1 - backslashes] === '\\') backslashes += 1
  // Behind an odd number the backslash is itself escaped.
  return backslashes % 2 === 0 ? found[0].length : 0
}

function unescaped(text: string): string {
  return text.replace(escapes, (_, code: string | undefined, character: string) =>
    code === undefined ? (meanings[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}
