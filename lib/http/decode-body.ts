import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { GatewayError } from '../errors.ts'

type Decode = (body: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

const decoders = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])

/**
 * Decodes a compressed request body for the scan; what is forwarded stays as it came. Codex may send zstd.
 * @throws GatewayError request_invalid for unknown encodings, body_invalid for damaged ones, body_too_large
 */
export async function decodeBody(body: Buffer, encoding: string, bytesMax: number): Promise<Buffer> {
  const decoder = decoders.get(encoding.trim().toLowerCase())
  if (decoder === undefined) {
    throw new GatewayError(
      'request_invalid',
      `The content-encoding "${encoding}" is not known. Send gzip, deflate, br, zstd or none.`,
      { param: 'content-encoding' },
    )
  }
  try {
    return await decoder(body, { maxOutputLength: bytesMax })
  } catch (error) {
    if (error instanceof RangeError) {
      throw new GatewayError('body_too_large', `The decoded request body is over ${bytesMax} bytes.`, {
        cause: error,
      })
    }
    throw new GatewayError('body_invalid', `The request body is not valid ${encoding}.`, { cause: error })
  }
}
