import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import type { Transform } from 'node:stream'

interface DecodeCaps {
  /** Decoding stops beyond this many decoded bytes. */
  readonly outputBytesMax: number
  /** Decoding stops when the output is longer than the input times this. */
  readonly ratioMax: number
}

/** Undoes a content-encoding piece by piece. Never throws: what cannot be decoded sets `isBroken`. */
export interface Decoder {
  /** The input was damaged, cut short or beyond the caps; what was decoded before has been delivered. */
  readonly isBroken: boolean
  /** Resolves when what this chunk decodes to has been delivered; undefined when it already has been. */
  write(chunk: Buffer): void | Promise<void>
  /** Resolves when all output has been delivered. */
  end(): Promise<void>
}

/** Small inputs of long runs are normal: the ratio counts only from here. */
const ratioFreeBytes = 1_048_576

/** A decoder for one content-encoding, or undefined where the encoding is not known. */
export function createDecoder(
  encoding: string,
  onData: (chunk: Buffer) => void,
  caps: DecodeCaps,
): Decoder | undefined {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return new IdentityDecoder(onData)
    case 'gzip':
    case 'x-gzip':
      return new StreamDecoder(() => createGunzip(), onData, caps)
    case 'deflate':
      return new StreamDecoder(createAnyInflate, onData, caps)
    case 'br':
      return new StreamDecoder(() => createBrotliDecompress(), onData, caps)
    case 'zstd':
      return new StreamDecoder(() => createZstdDecompress(), onData, caps)
    default:
      return undefined
  }
}

/** Servers send `deflate` with the zlib header of RFC 9110 or without; the method nibble tells. */
function createAnyInflate(first: Buffer): Transform {
  return ((first[0] ?? 0) & 0x0f) === 0x08 ? createInflate() : createInflateRaw()
}

class IdentityDecoder implements Decoder {
  readonly isBroken = false
  readonly #onData: (chunk: Buffer) => void

  constructor(onData: (chunk: Buffer) => void) {
    this.#onData = onData
  }

  write(chunk: Buffer): void {
    this.#onData(chunk)
  }

  end(): Promise<void> {
    return Promise.resolve()
  }
}

class StreamDecoder implements Decoder {
  readonly #create: (first: Buffer) => Transform
  readonly #onData: (chunk: Buffer) => void
  readonly #caps: DecodeCaps
  #stream: Transform | undefined
  #inputBytes = 0
  #outputBytes = 0
  #isBroken = false
  readonly #waiting = new Set<() => void>()

  constructor(create: (first: Buffer) => Transform, onData: (chunk: Buffer) => void, caps: DecodeCaps) {
    this.#create = create
    this.#onData = onData
    this.#caps = caps
  }

  get isBroken(): boolean {
    return this.#isBroken
  }

  write(chunk: Buffer): void | Promise<void> {
    if (this.#isBroken || chunk.length === 0) return
    this.#inputBytes += chunk.length
    const stream = (this.#stream ??= this.#open(chunk))
    return new Promise(resolve => {
      const done = (): void => {
        this.#waiting.delete(done)
        resolve()
      }
      this.#waiting.add(done)
      stream.write(chunk, done)
    })
  }

  end(): Promise<void> {
    const stream = this.#stream
    if (stream === undefined || this.#isBroken) return Promise.resolve()
    return new Promise(resolve => {
      stream.once('close', resolve)
      stream.end()
    })
  }

  #open(first: Buffer): Transform {
    const stream = this.#create(first)
    stream.on('data', (decoded: Buffer) => this.#deliver(decoded))
    stream.on('error', () => {
      this.#isBroken = true
    })
    // A stream that fails never calls back for the chunk it failed on.
    stream.on('close', () => {
      for (const done of this.#waiting) done()
    })
    return stream
  }

  #deliver(decoded: Buffer): void {
    if (this.#isBroken) return
    this.#outputBytes += decoded.length
    const { outputBytesMax, ratioMax } = this.#caps
    const ratioBytesMax = Math.max(ratioFreeBytes, this.#inputBytes * ratioMax)
    if (this.#outputBytes > outputBytesMax || this.#outputBytes > ratioBytesMax) {
      this.#isBroken = true
      this.#stream?.destroy()
      return
    }
    this.#onData(decoded)
  }
}
