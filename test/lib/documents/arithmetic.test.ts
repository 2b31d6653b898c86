import fc from 'fast-check'
import t from 'tap'
import { monthAmount, vatWithin } from '../../../lib/documents/account-money.ts'
import { amountInWords } from '../../../lib/documents/print/layout-parts.ts'
import { roundToKopecks } from '../../../lib/money/kopecks.ts'

await t.test('amounts rounded month by month add up to the rounded total, without drift', async t => {
  const months = fc.array(fc.integer({ min: 0, max: 1e13 }), { maxLength: 60 })

  fc.assert(
    fc.property(months, charges => {
      let charged = 0
      let documented = 0
      for (const charge of charges) {
        charged += charge
        const amount = monthAmount(charged, documented)
        if (amount < 0) return false
        documented += amount
        if (documented !== roundToKopecks(charged)) return false
      }
      return Math.abs(documented * 10_000 - charged) <= 5_000
    }),
  )
  t.equal(monthAmount(4_999, 0), 0)
  t.equal(monthAmount(9_998, 0), 1, 'an amount below half a kopeck is carried to the next month')
})

await t.test('the tax within an amount is rounded half up to the kopeck', async t => {
  t.equal(vatWithin(1_234_500, 22), 222_615)
  t.equal(vatWithin(1_234_500, 'none'), 0)
  t.equal(vatWithin(105, 5), 5)
  t.equal(vatWithin(107, 7), 7)
  fc.assert(
    fc.property(fc.nat(1e11), fc.constantFrom(5 as const, 7 as const, 22 as const), (amount, rate) => {
      const exact = BigInt(amount) * BigInt(rate) * 2n + BigInt(100 + rate)
      return BigInt(vatWithin(amount, rate)) === exact / BigInt(2 * (100 + rate))
    }),
  )
})

await t.test('amounts are written in words', async t => {
  const cases: readonly (readonly [number, string])[] = [
    [0, 'Ноль рублей 00 копеек'],
    [100, 'Один рубль 00 копеек'],
    [201, 'Два рубля 01 копейка'],
    [1_234_500, 'Двенадцать тысяч триста сорок пять рублей 00 копеек'],
    [100_000_000_105, 'Один миллиард один рубль 05 копеек'],
    [2_100_22, 'Две тысячи сто рублей 22 копейки'],
    [11_000_11, 'Одиннадцать тысяч рублей 11 копеек'],
  ]
  for (const [amount, words] of cases) t.equal(amountInWords(amount), words)
})
