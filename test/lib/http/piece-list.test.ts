import fc from 'fast-check'
import t from 'tap'
import { PieceList } from '../../../lib/http/piece-list.ts'

await t.test('pieces are the bytes that came, however they were cut', t => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 20_000 })))
  fc.assert(
    fc.property(lengths, fc.nat(), (sizes, takenAfter) => {
      const list = new PieceList()
      const came: Buffer[] = []
      const taken: Buffer[] = []
      for (const [index, size] of sizes.entries()) {
        const piece = Buffer.alloc(size, index)
        came.push(piece)
        list.push(piece)
        if (index === takenAfter % 50) taken.push(...list.take())
      }
      taken.push(...list.take())
      return Buffer.concat(taken).equals(Buffer.concat(came)) && list.pieces.length === 0
    }),
  )
  t.end()
})

await t.test('a million pieces of a byte are some dozens', t => {
  const list = new PieceList()
  for (let count = 0; count < 1_000_000; count += 1) list.push(Buffer.of(count & 0xff))
  t.ok(list.pieces.length < 100, String(list.pieces.length))
  t.end()
})
