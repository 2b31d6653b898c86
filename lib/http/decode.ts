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

/** Decodes a content-encoding piece by piece. Never throws: input that cannot be decoded sets `isBroken`. */
export interface Decoder {
  /** The input was damaged, truncated or beyond the caps; earlier output has been delivered. */
  readonly isBroken: boolean
  /** Bytes that were written and are not decoded yet. */
  readonly waitingBytes: number
  /** Resolves when the output of this chunk has been delivered; undefined when it already has been. */
  write(chunk: Buffer): void | Promise<void>
  /** Resolves when all output has been delivered. */
  end(): Promise<void>
}

/** Small inputs of long runs are normal: the ratio is checked only from this size on. */
const ratioFreeBytes = 1_048_576

/** A decoder for one content-encoding, or undefined where the encoding is unknown. */
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

/** Servers send `deflate` with the zlib header of RFC 9110 or without it; the method nibble shows which. */
function createAnyInflate(first: Buffer): Transform {
  return ((first[0] ?? 0) & 0x0f) === 0x08 ? createInflate() : createInflateRaw()
}

class IdentityDecoder implements Decoder {
  readonly isBroken = false
  readonly waitingBytes = 0
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

/**
 * Writes one piece at a time to its stream, and joins what arrives meanwhile into the next: a response in pieces of one
 * byte would take a thousand times its size in the stream's queue.
 */
class StreamDecoder implements Decoder {
  readonly #create: (first: Buffer) => Transform
  readonly #onData: (chunk: Buffer) => void
  readonly #caps: DecodeCaps
  #stream: Transform | undefined
  #inputBytes = 0
  #outputBytes = 0
  isBroken = false
  /** Called when the current piece has been decoded; undefined while there is none. */
  #done: (() => void) | undefined
  #gathered: Buffer[] = []
  waitingBytes = 0
  /** Resolves when the gathered pieces have been delivered. */
  #next: PromiseWithResolvers<void> | undefined

  constructor(create: (first: Buffer) => Transform, onData: (chunk: Buffer) => void, caps: DecodeCaps) {
    this.#create = create
    this.#onData = onData
    this.#caps = caps
  }

  write(chunk: Buffer): void | Promise<void> {
    if (this.isBroken || chunk.length === 0) return
    this.#inputBytes += chunk.length
    const stream = (this.#stream ??= this.#open(chunk))
    if (this.#done === undefined) return this.#send(stream, chunk)
    this.#gathered.push(chunk)
    this.waitingBytes += chunk.length
    this.#next ??= Promise.withResolvers()
    return this.#next.promise
  }

  async end(): Promise<void> {
    const stream = this.#stream
    await this.#next?.promise
    if (stream === undefined || this.isBroken) return
    await new Promise<void>(resolve => {
      stream.once('close', resolve)
      stream.end()
    })
  }

  #send(stream: Transform, bytes: Buffer): Promise<void> {
    return new Promise(resolve => {
      this.#done = () => {
        this.#done = undefined
        resolve()
        this.#sendGathered(stream)
      }
      stream.write(bytes, this.#done)
    })
  }

  #sendGathered(stream: Transform): void {
    const gathered = this.#gathered
    const next = this.#next
    this.#gathered = []
    this.waitingBytes = 0
    this.#next = undefined
    if (next === undefined) return
    if (this.isBroken || stream.destroyed) next.resolve()
    else next.resolve(this.#send(stream, Buffer.concat(gathered)))
  }

  #open(first: Buffer): Transform {
    const stream = this.#create(first)
    stream.on('data', (decoded: Buffer) => this.#deliver(decoded))
    stream.on('error', () => {
      this.isBroken = true
    })
    // A stream that fails never calls back for the chunk on which it failed.
    stream.on('close', () => this.#done?.())
    return stream
  }

  #deliver(decoded: Buffer): void {
    if (this.isBroken) return
    this.#outputBytes += decoded.length
    const { outputBytesMax, ratioMax } = this.#caps
    const ratioBytesMax = Math.max(ratioFreeBytes, this.#inputBytes * ratioMax)
    if (this.#outputBytes > outputBytesMax || this.#outputBytes > ratioBytesMax) {
      this.isBroken = true
      this.#stream?.destroy()
      return
    }
    this.#onData(decoded)
  }
}
