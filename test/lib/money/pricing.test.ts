import fc from 'fast-check'
import t from 'tap'
import { canonicalPrice, priceHash, priceVersions, type ListPricing } from '../../../lib/money/pricing.ts'
import { priceInForce } from '../../../lib/money/price.ts'
import { priceLine } from '../../../lib/money/price-line.ts'

/** An integer of 10^-decimals: the oracle multiplies these, and shares no arithmetic with the code. */
interface Scaled {
  readonly text: string
  readonly digits: bigint
  readonly decimals: number
}

function scaled(max: number, decimalsMax: number): fc.Arbitrary<Scaled> {
  return fc
    .tuple(fc.bigInt({ min: 1n, max: BigInt(max) * 10n ** BigInt(decimalsMax) }), fc.nat(decimalsMax))
    .map(([digits, decimals]) => {
      const value = digits / 10n ** BigInt(decimalsMax - decimals) + 1n
      const padded = String(value).padStart(decimals + 1, '0')
      const text = decimals === 0 ? padded : `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
      return { text, digits: value, decimals }
    })
}

const usd = scaled(999, 9)
const rate = scaled(9999, 9)
const coefficient = scaled(90, 9)
const tokens = fc.integer({ min: 0, max: 5_000_000 })

const listed = (of: Partial<ListPricing>): ListPricing => ({
  usdRub: '1',
  coefficient: '1',
  round: 'half-up',
  versions: [{ usdPerMillion: { input: '1' } }],
  ...of,
})

await t.test(
  'an amount is units times dollars times rate times coefficient, rounded half up once',
  async t => {
    fc.assert(
      fc.property(usd, usd, rate, coefficient, tokens, tokens, (one, other, rub, factor, input, output) => {
        const versions = [{ usdPerMillion: { input: one.text, output: other.text } }]
        const [price] = priceVersions(
          'm',
          listed({ usdRub: rub.text, coefficient: factor.text, versions }),
          [],
        )

        const { amountMicros } = priceLine(price!, { meters: { input, output } })

        // All at one scale: dollars per million units are micro-dollars per unit.
        const decimals = Math.max(one.decimals, other.decimals)
        const dollars =
          BigInt(input) * one.digits * 10n ** BigInt(decimals - one.decimals) +
          BigInt(output) * other.digits * 10n ** BigInt(decimals - other.decimals)
        const scale = 10n ** BigInt(decimals + rub.decimals + factor.decimals)
        const exact = dollars * rub.digits * factor.digits
        const expected = (2n * exact + scale) / (2n * scale)
        return expected > 10n ** 15n ? amountMicros === 0 : BigInt(amountMicros) === expected
      }),
      { numRuns: 2000 },
    )
    t.pass()
  },
)

await t.test('round: up rounds the amount up, and half-up is the default', async t => {
  const list = listed({ versions: [{ usdPerMillion: { input: '0.1', output: '0.5' } }] })
  const [halfUp] = priceVersions('m', list, [])
  const [up] = priceVersions('m', { ...list, round: 'up' }, [])

  t.equal(priceLine(halfUp!, { meters: { input: 1 } }).amountMicros, 0)
  t.equal(priceLine(halfUp!, { meters: { output: 1 } }).amountMicros, 1, 'half a micro-rouble')
  t.equal(priceLine(up!, { meters: { input: 1 } }).amountMicros, 1)
  t.equal(priceLine(up!, { meters: { input: 10 } }).amountMicros, 1, 'a whole micro-rouble stays')
  t.equal(priceLine(up!, { meters: { input: 1, output: 1 } }).amountMicros, 1, 'once')
  t.not(up?.hash, halfUp?.hash)
  t.notMatch(canonicalPrice(halfUp!), 'round', 'prices stored before this setting keep their hashes')
})

await t.test('a stored price has the same hash and recomputes the same amounts', async t => {
  const list = listed({ usdRub: '92.123456789', coefficient: '1.3', round: 'up' })
  const [price] = priceVersions('m', list, [])
  const stored = JSON.parse(canonicalPrice(price!)) as typeof price

  t.equal(priceHash(canonicalPrice(price!)), price?.hash)
  fc.assert(
    fc.property(tokens, input => {
      const line = { meters: { input } }
      return priceLine(stored!, line).amountMicros === priceLine(price!, line).amountMicros
    }),
  )
})

await t.test('a version of the price begins when its list price or its rate changes', async t => {
  const list = listed({
    usdRub: { from: 'cbr', marginPercent: '2' },
    coefficient: '1.5',
    versions: [
      { usdPerMillion: { input: '1' } },
      { from: '2026-11-25', usdPerMillion: { input: '2' }, factors: { batch: '0.5' } },
    ],
  })
  const rates = [
    { from: '2026-11-24T00:00:00+03:00', usdRub: '90' },
    { from: '2026-11-26T00:00:00+03:00', usdRub: '92.5' },
  ]

  const versions = priceVersions('m', list, rates)

  t.same(
    versions.map(({ from, rubPerMillion, factors }) => [from, rubPerMillion.input, factors]),
    [
      ['2026-11-24T00:00:00+03:00', '137.7', {}],
      ['2026-11-25', '275.4', { batch: '0.5' }],
      ['2026-11-26T00:00:00+03:00', '283.05', { batch: '0.5' }],
    ],
  )
  t.equal(priceInForce(versions, Date.parse('2026-11-23T20:59:59Z')), undefined, 'no rate yet')
  t.equal(priceInForce(versions, Date.parse('2026-11-23T21:00:00Z')), versions[0], 'midnight in Moscow')
  t.same(priceVersions('m', list, []), [], 'without a rate there is no price')
})

await t.test('the version in force costs the list price times the rate of that moment', async t => {
  const day = fc.integer({ min: 1, max: 28 })
  const from = (at: number): string => `2026-11-${String(at).padStart(2, '0')}T00:00:00Z`
  const dated = fc.uniqueArray(fc.tuple(day, fc.integer({ min: 1, max: 50 })), {
    minLength: 1,
    maxLength: 5,
    selector: ([at]) => at,
  })
  const latest = (of: readonly (readonly [number, number])[], at: number): number | undefined =>
    of.filter(([start]) => start <= at).toSorted(([one], [other]) => other - one)[0]?.[1]
  fc.assert(
    fc.property(dated, dated, day, (prices, rates, at) => {
      const list = listed({
        usdRub: { from: 'cbr', marginPercent: '0' },
        versions: prices.map(([start, dollars]) => ({
          from: from(start),
          usdPerMillion: { input: String(dollars) },
        })),
      })
      const feed = rates.map(([start, rub]) => ({ from: from(start), usdRub: String(rub) }))

      const found = priceInForce(priceVersions('m', list, feed), Date.parse(from(at)))

      const [dollars, rub] = [latest(prices, at), latest(rates, at)]
      return dollars === undefined || rub === undefined
        ? found === undefined
        : found?.rubPerMillion.input === String(dollars * rub)
    }),
    { numRuns: 500 },
  )
  t.pass()
})
