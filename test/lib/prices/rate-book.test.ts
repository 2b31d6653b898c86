import fc from 'fast-check'
import t from 'tap'
import { readCbrRate, RateError } from '../../../lib/prices/rate-book.ts'
import { ratesXml } from '../../fixtures/central-bank.ts'

await t.test("the dollar's rate is read from the Central Bank's daily list", async t => {
  t.same(readCbrRate(ratesXml('2026-11-24', '92,5034')), { day: '2026-11-24', usdRub: '92.5034' })
  t.same(readCbrRate(ratesXml('2026-12-01', '925,0340', '10')).usdRub, '92.5034', 'for ten dollars')
  t.same(readCbrRate(ratesXml('2026-12-01', '92')).usdRub, '92')
})

await t.test('a list in UTF-8 is read too', async t => {
  const text = new TextDecoder('windows-1251').decode(ratesXml('2026-11-24', '92,5034'))

  const rate = readCbrRate(Buffer.from(text.replace('windows-1251', 'utf-8')))

  t.equal(rate.usdRub, '92.5034')
})

for (const [name, body, message] of [
  ['a rate of 0', ratesXml('2026-11-24', '0,0000'), /rate of 0/],
  ['a negative rate', ratesXml('2026-11-24', '-92,5'), /cannot be read: "-92.5"/],
  ['a rate that is a word', ratesXml('2026-11-24', 'NaN'), /cannot be read: "NaN"/],
  ['a rate of millions', ratesXml('2026-11-24', '92500000,0'), /cannot be read/],
  ['a nominal of 0', ratesXml('2026-11-24', '92,5', '0'), /for "0"/],
  ['no date', Buffer.from('<ValCurs/>'), /no ValCurs with a Date/],
  ['no dollar', Buffer.from('<ValCurs Date="24.11.2026"/>'), /no rate of USD/],
  ['another document', Buffer.from('<html Date="24.11.2026"/>'), /no list of rates/],
  ['half a document', ratesXml('2026-11-24', '92,5').subarray(0, 300), /no XML|no rate|no list/],
  ['no document', Buffer.from('Bad Gateway'), /no XML|no list/],
  ['nothing', Buffer.alloc(0), /no XML|no list/],
  ['an unknown encoding', Buffer.from('<?xml version="1.0" encoding="x-y"?><ValCurs/>'), /no XML/],
] as const) {
  await t.test(`${name} is refused with the reason`, async t => {
    t.throws(() => readCbrRate(body), { name: 'RateError', message })
  })
}

await t.test('any text is a rate above 0 or refused', async t => {
  const whole = ratesXml('2026-11-24', '92,5034').toString('latin1')
  const mutated = fc
    .tuple(fc.nat(whole.length), fc.nat(20), fc.string({ unit: 'binary', maxLength: 8 }))
    .map(([at, cut, text]) => whole.slice(0, at) + text + whole.slice(at + cut))
  fc.assert(
    fc.property(mutated, text => {
      try {
        return Number(readCbrRate(Buffer.from(text, 'latin1')).usdRub) > 0
      } catch (error) {
        return error instanceof RateError
      }
    }),
    { numRuns: 2000 },
  )
  t.pass()
})
