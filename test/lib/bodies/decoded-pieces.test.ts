import t from 'tap'
import { decodedPieces } from '../../../lib/bodies/decoded-pieces.ts'
import { encoders } from '../../fixtures/encoded-body.ts'

const text = Buffer.from('Words. '.repeat(1000))

async function decode(encoding: string, pieces: readonly Buffer[]): Promise<Buffer> {
  async function* incoming(): AsyncGenerator<Buffer> {
    yield* pieces
  }
  const decoded: Buffer[] = []
  for await (const piece of decodedPieces(incoming(), encoding, 1_000_000)) decoded.push(piece)
  return Buffer.concat(decoded)
}

for (const [encoding, encode] of Object.entries(encoders)) {
  await t.test(`${encoding}: bytes behind the end are refused, in the same chunk or a later one`, async t => {
    const packed = encode(text)
    t.ok((await decode(encoding, [packed])).equals(text))
    for (const more of [Buffer.alloc(1), Buffer.alloc(200_000), Buffer.alloc(200_000, 'x')]) {
      const together = Buffer.concat([packed, more])
      for (const pieces of [[together], [packed, more], [together.subarray(0, -1), together.subarray(-1)]]) {
        await t.rejects(decode(encoding, pieces), {
          code: 'body_invalid',
          message: `The request body is not valid ${encoding}.`,
        })
      }
    }
  })
}

for (const encoding of ['gzip', 'zstd']) {
  await t.test(`${encoding}: several streams in a row decode as one, as the format defines`, async t => {
    const packed = encoders[encoding]?.(text) ?? Buffer.alloc(0)
    const twice = Buffer.concat([text, text])
    t.ok((await decode(encoding, [packed, packed])).equals(twice))
    t.ok((await decode(encoding, [Buffer.concat([packed, packed])])).equals(twice))
  })
}
