import fc from 'fast-check'
import t from 'tap'
import { count, isoDay, isoTime, money, smallMoney, time } from '../../../lib/account-area/format.ts'

await t.test('money is shown to the kopeck, with narrow spaces between thousands', t => {
  t.equal(money(1_234_567_800_000), '1\u202f234\u202f567,80\u00a0₽')
  t.equal(money(0), '0,00\u00a0₽')
  t.equal(money(999_999_995_000), '1\u202f000\u202f000,00\u00a0₽')
  t.equal(money(-1_500_000), '\u22121,50\u00a0₽')
  t.equal(money(-1), '0,00\u00a0₽')
  t.end()
})

await t.test('what a request cost is shown to the micro-rouble, where it is needed', t => {
  t.equal(smallMoney(1_234), '0,001234\u00a0₽')
  t.equal(smallMoney(12_500_000), '12,50\u00a0₽')
  t.equal(smallMoney(12_345_678_900), '12\u202f345,6789\u00a0₽')
  t.end()
})

await t.test('no digit of an amount is lost or made up', t => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), micros => {
      const digits = smallMoney(micros).replaceAll(/[\u202f\u00a0₽]/g, '')
      const [whole = '', fraction = ''] = digits.split(',')
      return BigInt(whole + fraction.padEnd(6, '0')) === BigInt(micros)
    }),
  )
  t.end()
})

await t.test('times are in Moscow and say so', t => {
  const evening = Date.parse('2026-11-20T21:30:05Z')

  t.equal(time(evening, 'ru'), '21.11.2026, 00:30\u00a0МСК')
  t.equal(time(evening, 'en'), '21/11/2026, 00:30\u00a0MSK')
  t.equal(isoTime(evening), '2026-11-21T00:30:05+03:00')
  t.equal(isoDay(evening), '2026-11-21')
  t.equal(count(1_234_567), '1\u202f234\u202f567')
  t.end()
})
