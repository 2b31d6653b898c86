import fc from 'fast-check'
import t from 'tap'
import { PieceList } from '../../../lib/http/piece-list.ts'

await t.test('a list returns the pushed bytes, however they were cut', t => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 20_000 })))
  fc.assert(
    fc.property(lengths, fc.nat(), (sizes, takenAfter) => {
      const list = new PieceList()
      const pushed: Buffer[] = []
      const taken: Buffer[] = []
      for (const [index, size] of sizes.entries()) {
        const piece = Buffer.alloc(size, index)
        pushed.push(piece)
        list.push(piece)
        if (index === takenAfter % 50) taken.push(...list.take())
      }
      taken.push(...list.take())
      return Buffer.concat(taken).equals(Buffer.concat(pushed)) && list.pieces.length === 0
    }),
  )
  t.end()
})

await t.test('a million pieces of one byte are kept as fewer than a hundred', t => {
  const list = new PieceList()
  for (let count = 0; count < 1_000_000; count += 1) list.push(Buffer.of(count & 0xff))
  t.ok(list.pieces.length < 100, String(list.pieces.length))
  t.end()
})
