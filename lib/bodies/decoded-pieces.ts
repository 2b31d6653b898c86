import { pipeline, type Transform } from 'node:stream'
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  type Zlib,
} from 'node:zlib'
import { GatewayError } from '../pipeline/errors.ts'
import { ClientLeftError } from './client-stream.ts'

/** How much is decoded at once: little enough to be scanned without delaying other requests. */
const options = { chunkSize: 16_384 }
const decoders = new Map<string, () => Transform & Zlib>([
  ['gzip', () => createGunzip(options)],
  ['x-gzip', () => createGunzip(options)],
  ['deflate', () => createInflate(options)],
  ['br', () => createBrotliDecompress(options)],
  ['zstd', () => createZstdDecompress(options)],
])

/** Text compresses to a tenth, sometimes to a fiftieth; far higher ratios are attacks. */
const ratioMax = 250
/** Short repetitive bodies are normal: the ratio is checked only from this size on. */
const ratioFreeBytes = 4 * 1_048_576

/**
 * Decodes a content-encoding piece by piece, no faster than the pieces are read.
 * @throws GatewayError request_invalid for unknown encodings, body_invalid for damaged bytes, body_too_large beyond the
 * size or the ratio
 */
export async function* decodedPieces(
  pieces: AsyncIterable<Buffer>,
  encoding: string,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  const create = decoders.get(encoding.trim().toLowerCase())
  if (create === undefined) {
    throw new GatewayError(
      'request_invalid',
      `The content-encoding "${encoding}" is not known. Send gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    )
  }
  let inputBytes = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      inputBytes += piece.length
      yield piece
    }
  }
  const decoder = create()
  // Any error on the input side destroys the decoder too, and is thrown below.
  pipeline(counted, decoder, () => undefined)
  let bytes = 0
  try {
    for await (const chunk of decoder) {
      const decoded = chunk as Buffer
      bytes += decoded.length
      if (bytes > bytesMax)
        throw new GatewayError('body_too_large', `The decoded request body is over ${bytesMax} bytes.`)
      if (bytes > ratioFreeBytes && bytes > inputBytes * ratioMax) {
        throw new GatewayError(
          'body_too_large',
          `The request body decodes to more than ${ratioMax} times its bytes: ${bytes} so far, from ${inputBytes}.`,
        )
      }
      yield decoded
    }
    // A decoder stops where its format ends, and does not read what follows.
    if (decoder.bytesWritten < inputBytes) throw new Error('It goes on behind its end.')
  } catch (error) {
    if (error instanceof GatewayError || error instanceof ClientLeftError) throw error
    throw new GatewayError('body_invalid', `The request body is not valid ${encoding}.`, { cause: error })
  }
}
