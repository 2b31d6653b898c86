import fc from 'fast-check'
import t from 'tap'
import { BatchSum } from '../../../lib/dialects/batch-results.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import type { Price } from '../../../lib/money/price.ts'

const base: Price = {
  hash: 'h',
  model: 'm',
  rubPerMillion: { input: '3', cachedInput: '0.3', output: '15' },
  rubPerUnit: {},
  above: [],
  factors: { batch: '0.5' },
}

const request = fc.record({
  input: fc.integer({ min: 0, max: 600_000 }),
  cachedInput: fc.integer({ min: 0, max: 300_000 }),
  output: fc.integer({ min: 0, max: 10_000 }),
})

for (const mode of ['whole', 'excess'] as const) {
  await t.test(
    `a sum of requests costs the sum of their costs, also above a threshold (${mode})`,
    async t => {
      const rubPerMillion = { input: '6', cachedInput: '0.6', output: '22.5' }
      const price: Price = { ...base, above: [{ inputTokens: 200_000, mode, rubPerMillion }] }
      const property = fc.property(fc.array(request, { minLength: 1, maxLength: 40 }), requests => {
        const sum = new BatchSum()
        let oneByOne = 0
        for (const meters of requests) {
          // In excess mode the cached part comes first in each prompt: with one meter the order does not matter.
          const used = mode === 'whole' ? meters : { input: meters.input, output: meters.output }
          sum.add({ meters: used, tier: 'batch' }, {})
          oneByOne += priceLine(price, { meters: used, tier: 'batch' }).amountMicros
        }
        const lines = sum.lines()
        const together = lines.reduce((total, line) => total + priceLine(price, line).amountMicros, 0)
        // Rounding changes each amount by at most half a micro-rouble.
        return Math.abs(together - oneByOne) <= requests.length / 2 + lines.length / 2
      })
      t.doesNotThrow(() => fc.assert(property))
    },
  )
}

await t.test('models and tiers have separate lines, and details are added up', async t => {
  const sum = new BatchSum()
  sum.add({ model: 'a', meters: { input: 1 }, tier: 'batch' }, { reasoning: 2 })
  sum.add({ model: 'b', meters: { input: 1 }, tier: 'batch' }, { reasoning: 3 })
  sum.add({ model: 'a', meters: { input: 4, output: 1 }, tier: 'batch' }, {})
  t.same(sum.lines(), [
    { model: 'a', meters: { input: 5, output: 1 }, tier: 'batch', sumOf: 2 },
    { model: 'b', meters: { input: 1 }, tier: 'batch', sumOf: 1 },
  ])
  t.same(sum.details, { reasoning: 5 })
})
