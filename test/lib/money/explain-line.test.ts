import fc from 'fast-check'
import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { explainLine } from '../../../lib/money/explain-line.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import { meters } from '../../../lib/money/usage.ts'
import type { Meter } from '../../../lib/money/usage.ts'

/** Roubles as an integer of 10^-40. It shares no arithmetic with the code. */
function scaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(40, '0'))
}

await t.test('an ordinary line has a part for each meter: units times price', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '125', cachedInput: '12.5', output: '1000' },
    rubPerUnit: { searches: '1' },
    factors: { batch: '0.5' },
  })
  const line = { meters: { input: 1200, cachedInput: 300, output: 7, searches: 2 }, tier: 'batch' }
  t.strictSame(explainLine(price, line), {
    parts: [
      { meter: 'input', units: 1200, price: { rub: '125', per: 1_000_000 }, cost: '0.15' },
      { meter: 'cachedInput', units: 300, price: { rub: '12.5', per: 1_000_000 }, cost: '0.00375' },
      { meter: 'output', units: 7, price: { rub: '1000', per: 1_000_000 }, cost: '0.007' },
      { meter: 'searches', units: 2, price: { rub: '1', per: 1 }, cost: '2' },
    ],
    factor: '0.5',
    cost: '1.080375',
  })
  t.equal(priceLine(price, line).amountMicros, 1_080_375)
})

await t.test('tokens above a threshold have a part of their own', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '100', output: '400' },
    above: [{ inputTokens: 1000, mode: 'excess', rubPerMillion: { input: '200' } }],
  })
  t.strictSame(explainLine(price, { meters: { input: 1500, output: 10 } }), {
    parts: [
      { meter: 'input', units: 1000, price: { rub: '100', per: 1_000_000 }, cost: '0.1' },
      { meter: 'input', units: 500, price: { rub: '200', per: 1_000_000 }, above: 1000, cost: '0.1' },
      { meter: 'output', units: 10, price: { rub: '400', per: 1_000_000 }, above: 1000, cost: '0.004' },
    ],
    cost: '0.204',
  })
})

await t.test('units without a price and invalid units cost nothing', async t => {
  const price = buildPrice({ model: 'm', rubPerMillion: { input: '100' } })
  t.strictSame(explainLine(price, { meters: { input: -5, images: 2 } }), {
    parts: [
      { meter: 'input', units: -5, cost: '0' },
      { meter: 'images', units: 2, cost: '0' },
    ],
    cost: '0',
  })
})

await t.test('the parts add up to the amount, for every price and usage', async () => {
  const decimal = fc
    .tuple(fc.nat({ max: 99_999 }), fc.nat({ max: 999_999 }))
    .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(6, '0')}`)
  const table = fc.dictionary(fc.constantFrom<Meter>(...meters), decimal, { noNullPrototype: true })
  const used = fc.dictionary(fc.constantFrom<Meter>(...meters), fc.integer({ min: -10, max: 900_000 }), {
    noNullPrototype: true,
  })
  const level = fc.record({
    inputTokens: fc.integer({ min: 0, max: 500_000 }),
    mode: fc.constantFrom('whole' as const, 'excess' as const),
    rubPerMillion: table,
  })
  fc.assert(
    fc.property(
      table,
      table,
      fc.array(level, { maxLength: 3 }),
      fc.option(decimal),
      used,
      (rubPerMillion, rubPerUnit, above, factor, units) => {
        const factors = factor === null ? {} : { batch: factor }
        const price = buildPrice({ model: 'm', rubPerMillion, rubPerUnit, above, factors })
        const line = { meters: units, tier: 'batch' }
        const { parts, cost, factor: shown } = explainLine(price, line)
        const sum = parts.reduce((total, part) => total + scaled(part.cost), 0n)
        const times = shown === undefined ? 10n ** 40n : scaled(shown)
        const micro = 10n ** 34n
        const { amountMicros } = priceLine(price, line)
        const rounded = (scaled(cost) + micro / 2n) / micro
        return (
          (sum * times) / 10n ** 40n === scaled(cost) &&
          // A line over the largest amount is charged nothing.
          (rounded > 10n ** 15n ? 0n : rounded) === BigInt(amountMicros)
        )
      },
    ),
    { numRuns: 1000 },
  )
})

await t.test('the factors of the tier and of the region are multiplied', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { output: '1000' },
    factors: { batch: '0.5', us: '1.1' },
  })
  const line = { meters: { output: 1000 }, tier: 'batch+us' }
  t.match(explainLine(price, line), { factor: '0.55', cost: '0.55' })
  t.same(priceLine(price, line), { amountMicros: 550_000, unpriced: [] })
  const other = { meters: { output: 1000 }, tier: 'priority+us' }
  t.same(priceLine(price, other), { amountMicros: 1_100_000, unpriced: [], unpricedTier: 'priority+us' })
})
