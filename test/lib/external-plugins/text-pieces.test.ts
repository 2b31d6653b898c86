import fc from 'fast-check'
import t from 'tap'
import { TextPieces } from '../../../lib/external-plugins/external-exchange.ts'

function read(bytes: Buffer, cuts: readonly number[]): string {
  const pieces: string[] = []
  const text = new TextPieces(piece => pieces.push(piece))
  let from = 0
  for (const cut of [...cuts, bytes.length].toSorted((one, other) => one - other)) {
    text.push(bytes.subarray(from, cut))
    from = cut
  }
  text.end()
  t.ok(pieces.every(piece => piece.length <= 65_536))
  return pieces.join('')
}

await t.test('the text of a JSON string is the same wherever its bytes are cut', async () => {
  const hard = fc
    .array(fc.constantFrom('\\', '"', 'u', '0', '\n', 'я', '😀', '\u2028', 'a'))
    .map(all => all.join(''))
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), hard),
      fc.array(fc.nat(400)),
      fc.boolean(),
      (value, cuts, isAscii) => {
        const written = JSON.stringify(value.toWellFormed())
        const json = isAscii
          ? written.replace(/[^\x20-\x7e]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : written
        const bytes = Buffer.from(json)

        return (
          read(
            bytes,
            cuts.map(cut => Math.min(cut, bytes.length)),
          ) === `"${value.toWellFormed()}"`
        )
      },
    ),
  )
})

await t.test('a body of 8 MB of backslashes is read within ten seconds', async t => {
  const bytes = Buffer.alloc(8 * 1_048_576 + 1, '\\')
  const begun = performance.now()

  const text = read(bytes, [1, 65_529, 131_000])

  t.equal(text.length, 4 * 1_048_576 + 1)
  t.ok(performance.now() - begun < 10_000)
})
