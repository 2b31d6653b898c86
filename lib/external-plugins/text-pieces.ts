import { StringDecoder } from 'node:string_decoder'

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
