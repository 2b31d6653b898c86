import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../pipeline/errors.ts'

/** A character has at most four bytes, so that at most three of one that goes on come before a chunk's end. */
const restBytesMax = 3

/**
 * Refuses text that is not UTF-8: some readers leave out bytes that are not, and find another key than the scan did.
 */
export class Utf8Check {
  /** The beginning of a character that the last chunk has cut. */
  #rest: Buffer = Buffer.alloc(0)

  /** @throws GatewayError body_invalid */
  push(chunk: Buffer): void {
    if (this.#rest.length === 0 && isUtf8(chunk)) return
    const text = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = endOfWholeCharacters(text)
    if (!isUtf8(text.subarray(0, end))) throw notUtf8()
    this.#rest = Buffer.from(text.subarray(end))
  }

  /** @throws GatewayError body_invalid where the text ends in the middle of a character */
  end(): void {
    if (this.#rest.length > 0) throw notUtf8()
  }
}

/** Where the last character begins, if it may not be whole; else the end. */
function endOfWholeCharacters(text: Buffer): number {
  for (let back = 1; back <= Math.min(restBytesMax, text.length); back += 1) {
    const byte = text[text.length - back] as number
    if (byte < 0x80) return text.length
    // The first byte of a character says by its high bits how many it has.
    if (byte >= 0xc0) return back < bytesOfCharacter(byte) ? text.length - back : text.length
  }
  return text.length
}

function bytesOfCharacter(first: number): number {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
}

function notUtf8(): GatewayError {
  return new GatewayError(
    'body_invalid',
    'The body is not UTF-8. Send JSON in UTF-8 (RFC 8259, section 8.1).',
  )
}
