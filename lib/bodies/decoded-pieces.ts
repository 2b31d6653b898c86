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

/** What is decoded at once: short enough to be scanned without keeping others waiting. */
const options = { chunkSize: 16_384 }
const decoders = new Map<string, () => Transform & Zlib>([
  ['gzip', () => createGunzip(options)],
  ['x-gzip', () => createGunzip(options)],
  ['deflate', () => createInflate(options)],
  ['br', () => createBrotliDecompress(options)],
  ['zstd', () => createZstdDecompress(options)],
])

/** Text compresses to a tenth, at times to a fiftieth; what goes far beyond is made to. */
const ratioMax = 250
/** Short bodies that repeat themselves are normal: the ratio counts only from here. */
const ratioFreeBytes = 4 * 1_048_576

/**
 * Undoes a content-encoding piece by piece, not faster than the pieces are taken.
 * @throws GatewayError request_invalid for unknown encodings, body_invalid for damaged bytes, body_too_large
 * beyond the size or for far more bytes than were sent
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
  // Whatever goes wrong on the way in destroys the decoder with it, and comes out below.
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
    // A decoder ends where its input says so, and takes nothing of what comes behind.
    if (decoder.bytesWritten < inputBytes) throw new Error('It goes on behind its end.')
  } catch (error) {
    if (error instanceof GatewayError || error instanceof ClientLeftError) throw error
    throw new GatewayError('body_invalid', `The request body is not valid ${encoding}.`, { cause: error })
  }
}
