import fc from 'fast-check'
import t from 'tap'
import {
  alignDecimals,
  count,
  debtMoney,
  exactRoubles,
  isoDay,
  isoTime,
  money,
  smallMoney,
  spentMoney,
  time,
} from '../../../lib/web/format.ts'

await t.test('a balance is shown to the kopeck, rounded down, and a debt rounded up', t => {
  t.equal(money(1_234_567_800_000, 'ru'), '1\u202f234\u202f567,80\u00a0₽')
  t.equal(money(0, 'ru'), '0,00\u00a0₽')
  t.equal(money(999_999_995_000, 'ru'), '999\u202f999,99\u00a0₽')
  t.equal(money(-1_500_000, 'ru'), '\u22121,50\u00a0₽')
  t.equal(money(-1, 'ru'), '0,00\u00a0₽')
  t.equal(debtMoney(1, 'ru'), '0,01\u00a0₽')
  t.equal(debtMoney(1_230_000, 'ru'), '1,23\u00a0₽')
  t.end()
})

await t.test('amounts are formatted for each language', t => {
  t.equal(money(1_509_000_000, 'en'), '1,509.00\u00a0₽')
  t.equal(smallMoney(1_509_000, 'ru'), '1,509\u00a0₽')
  t.equal(smallMoney(1_509_000, 'en'), '1.509\u00a0₽')
  t.equal(smallMoney(1_234, 'ru'), '0,001234\u00a0₽')
  t.equal(smallMoney(12_500_000, 'ru'), '12,50\u00a0₽')
  t.equal(smallMoney(12_345_678_900, 'ru'), '12\u202f345,6789\u00a0₽')
  t.equal(spentMoney(9_999, 'en'), '0.009999\u00a0₽')
  t.equal(spentMoney(10_001, 'en'), '0.01\u00a0₽')
  t.equal(exactRoubles('1234.5', 'en'), '1,234.50\u00a0₽')
  t.equal(count(1_234.5, 'en'), '1,234.5')
  t.equal(count(1_234_567, 'ru'), '1\u202f234\u202f567')
  t.equal(count(1_234_567, 'en'), '1,234,567')
  t.end()
})

await t.test('the decimal marks of a column are aligned', t => {
  t.strictSame(alignDecimals(['12,50\u00a0₽', '0,001234\u00a0₽', '\u2013']), [
    '12,50\u00a0₽\u2007\u2007\u2007\u2007',
    '0,001234\u00a0₽',
    '\u2013\u2007\u2007\u2007\u2007\u2007\u2007',
  ])
  t.strictSame(alignDecimals([]), [])
  t.end()
})

await t.test('no digit of an amount is lost or added', t => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), micros =>
      (['ru', 'en'] as const).every(language => {
        const [whole = '', fraction = ''] = smallMoney(micros, language)
          .replaceAll(language === 'ru' ? /[\u202f\u00a0₽]/g : /[,\u00a0₽]/g, '')
          .split(language === 'ru' ? ',' : '.')
        return BigInt(whole + fraction.padEnd(6, '0')) === BigInt(micros)
      }),
    ),
  )
  t.end()
})

await t.test('times are shown in Moscow time, with its name', t => {
  const evening = Date.parse('2026-11-20T21:30:05Z')

  t.equal(time(evening, 'ru'), '21.11.2026, 00:30\u00a0МСК')
  t.equal(time(evening, 'en'), '21/11/2026, 00:30\u00a0MSK')
  t.equal(isoTime(evening), '2026-11-21T00:30:05+03:00')
  t.equal(isoDay(evening), '2026-11-21')
  t.end()
})
