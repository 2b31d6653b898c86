import fc from 'fast-check'
import t from 'tap'
import { priceCharge, type ChargeLine, recomputeCharge } from '../../../lib/ledger/price-charge.ts'
import { amountMicrosMax } from '../../../lib/money/amount.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { meters } from '../../../lib/money/usage.ts'
import { chargeOf, testPrice } from '../../contracts/store-under-test.ts'

const price = buildPrice({
  model: 'm',
  rubPerMillion: { input: '0.37', cachedInput: '0.000001', output: '1.113', audioOutput: '99999.999999' },
  rubPerUnit: { images: '0.5', 'images/large': '1.5', audioSeconds: '0.0333' },
  above: [{ inputTokens: 1000, mode: 'excess', rubPerMillion: { input: '0.74' } }],
  factors: { batch: '0.5', priority: '1.75' },
})
const prices = new Map([price, testPrice].map(one => [one.hash, one]))

const units = fc.oneof(
  { weight: 6, arbitrary: fc.nat(2_000_000) },
  fc.double(),
  fc.constantFrom(0, -0, -1, 0.5, Number.NaN, Infinity, 2 ** 53, 2 ** 53 + 2, 1e300, 1e22, -1e300),
)
const line = fc.record({
  usage: fc.record(
    {
      meters: fc.dictionary(fc.constantFrom(...meters), units, { maxKeys: 5 }),
      tier: fc.constantFrom('batch', 'priority', 'flex'),
      variant: fc.constantFrom('large', 'large/x', 'small'),
    },
    { requiredKeys: ['meters'] },
  ),
  price: fc.constantFrom(price, testPrice),
})

await t.test('recomputing the stored lines of any charge gives the same cost', t => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), lines => {
      const charge = priceCharge(chargeOf({}, { lines }))
      const isMoney = Number.isSafeInteger(charge.costMicros) && charge.costMicros >= 0
      if (!isMoney) throw new Error(`${charge.costMicros} is no amount`)
      const stored = JSON.parse(JSON.stringify(charge.lines)) as ChargeLine[]
      const again = recomputeCharge(stored, charge.costMicros, prices)
      return again.costMicros === charge.costMicros && again.differences.length === 0
    }),
    { numRuns: 2000 },
  )
  t.end()
})

await t.test('a line that takes the cost over the largest amount costs nothing, also when recomputed', t => {
  const most = { usage: { meters: { output: amountMicrosMax / 1e7 } }, price: testPrice }
  const charge = priceCharge(chargeOf({}, { lines: [most, most] }))
  t.match(charge, { costMicros: amountMicrosMax, flags: ['usage_invalid'] })
  t.strictSame(recomputeCharge(charge.lines, charge.costMicros, prices).differences, [])
  t.end()
})

await t.test('differences between a charge and its lines are reported', t => {
  const { lines } = priceCharge(chargeOf({ input: 3 }))
  const [stored] = lines
  if (stored === undefined) throw new Error('there is no line')
  const recomputed = (changed: ChargeLine, cost = 3_000_000) => recomputeCharge([changed], cost, prices)
  t.strictSame(recomputed(stored), { costMicros: 3_000_000, differences: [] })
  t.match(recomputed({ ...stored, meters: { input: 4 } }), {
    costMicros: 4_000_000,
    differences: [/not what its/],
  })
  t.match(recomputed(stored, 3_000_001), { costMicros: 3_000_000, differences: [/do not add up/] })
  t.match(recomputed({ ...stored, priceVersion: 'x' }), { costMicros: undefined, differences: [/not known/] })
  t.end()
})
