import fc from 'fast-check'
import t from 'tap'
import type { Price } from '../../../lib/money/price.ts'
import type { Meters } from '../../../lib/money/usage.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import { statedBeyond } from '../../../lib/settlement/settle.ts'

const rubPerUsd = 120
const price = buildPrice({
  model: 'm',
  rubPerMillion: { input: '120', output: '600' },
  rubPerUnit: { statedUsd: String(rubPerUsd) },
})
const lines = [{ usage: { meters: { input: 1_000_000, output: 100_000 } }, price }]
/** The cost of the lines: 120 and 60 roubles. */
const meteredUsd = 1.5

await t.test('a stated cost beyond the meters adds a line for the difference', async t => {
  t.same(statedBeyond(lines, 2, price), { usage: { meters: { statedUsd: 0.5 } }, price })
  t.same(statedBeyond([], 0.25, price), { usage: { meters: { statedUsd: 0.25 } }, price })
})

await t.test(
  "Perplexity's research costs what it states, and its other models cost their meters",
  async t => {
    const research = buildPrice({
      model: 'sonar-deep-research',
      rubPerMillion: { input: '200', output: '800' },
      rubPerUnit: { searches: '0.5', statedUsd: '100' },
    })
    const pro = buildPrice({
      model: 'sonar-pro',
      rubPerMillion: { input: '300', output: '1500' },
      rubPerUnit: { requests: '1.4', statedUsd: '100' },
    })
    const charged = (meters: Meters, own: Price, costUsd: number): number => {
      const metered = [{ usage: { meters }, price: own }]
      const beyond = statedBeyond(metered, costUsd, own)
      return [...metered, ...(beyond === undefined ? [] : [beyond])].reduce(
        (sum, line) => sum + priceLine(line.price, line.usage).amountMicros,
        0,
      )
    }

    t.equal(charged({ input: 33, output: 7163, searches: 18 }, research, 0.409), 40_900_000)
    t.equal(charged({ input: 7, output: 1, requests: 1 }, pro, 0.00604), 1_403_600, 'a lower fee')
    t.equal(charged({ input: 7, output: 1, requests: 1 }, pro, 0.018036), 1_803_600, 'a multi-step search')
  },
)

await t.test('a stated cost that is covered, absent or no amount adds nothing', async t => {
  for (const costUsd of [meteredUsd, meteredUsd * 1.01, 0.1, 0, -5, NaN, undefined]) {
    t.equal(statedBeyond(lines, costUsd, price), undefined, String(costUsd))
  }
  const inRoubles = buildPrice({ model: 'm', rubPerMillion: { input: '120', output: '600' } })
  t.equal(statedBeyond(lines, 2, inRoubles), undefined, 'a price without a dollar rate')
  t.equal(statedBeyond(lines, 2, undefined), undefined)
})

await t.test('the meters and the added line together cost the stated amount', async t => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000_000 }),
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.double({ min: 0.000001, max: 1000, noNaN: true }),
      (input, output, costUsd) => {
        const metered = [{ usage: { meters: { input, output } }, price }]
        const beyond = statedBeyond(metered, costUsd, price)
        if (beyond === undefined) return
        const micros = [...metered, beyond].reduce(
          (sum, one) => sum + priceLine(price, one.usage).amountMicros,
          0,
        )
        // A millionth of a dollar, and the rounding of three lines.
        const off = Math.abs(micros - costUsd * rubPerUsd * 1e6)
        if (off > rubPerUsd + 3) throw new Error(`${micros} for ${costUsd} dollars`)
      },
    ),
    { numRuns: 5000 },
  )
  t.pass('for 5,000 usages')
})
