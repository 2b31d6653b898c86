import fc from 'fast-check'
import t from 'tap'
import {
  formatKopecks,
  formatWholeKopecks,
  microsPerKopeck,
  parseKopecks,
  roundToKopecks,
} from '../../../lib/money/kopecks.ts'

await t.test('amounts of banks are read exactly to the kopeck or refused', async t => {
  t.equal(parseKopecks('45329.91'), 4_532_991)
  t.equal(parseKopecks('100'), 10_000)
  t.equal(parseKopecks('100,5'), 10_050)
  for (const text of ['', '.5', '1.', '1.234', '-1', '1e3', '1 000', '40000-00', 'NaN', '1'.repeat(14)]) {
    t.equal(parseKopecks(text), undefined, `"${text}"`)
  }
})

await t.test('written kopecks read back the same, and micro-roubles are rounded half up', async t => {
  fc.assert(
    fc.property(fc.nat(999_999_999_999_999), kopecks => parseKopecks(formatKopecks(kopecks)) === kopecks),
  )
  t.equal(formatKopecks(-105), '-1.05')
  t.equal(roundToKopecks(4999), 0)
  t.equal(roundToKopecks(5000), 1)
  t.equal(roundToKopecks(-5000), 0)
  t.equal(roundToKopecks(1_234_567 * microsPerKopeck), 1_234_567)
})

await t.test('a fraction of a kopeck cannot be written', t => {
  t.equal(formatWholeKopecks(1_500_000_000), '1500.00')
  t.equal(formatWholeKopecks(-10_000), '-0.01')
  for (const wrong of [0.5, NaN, Infinity]) t.throws(() => formatKopecks(wrong), RangeError)
  t.throws(() => formatWholeKopecks(1_500_000_001), RangeError)
  t.end()
})
