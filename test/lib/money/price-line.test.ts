import fc from 'fast-check'
import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceAtMost, priceLine } from '../../../lib/money/price-line.ts'
import { meters, tokenMeters, unitMeters } from '../../../lib/money/usage.ts'
import type { Meter, Meters } from '../../../lib/money/usage.ts'

/** A fraction of two integers: the oracle shares no arithmetic with the code. */
type Fraction = readonly [over: bigint, under: bigint]

function fraction(text: string): Fraction {
  const [whole = '', decimals = ''] = text.split('.')
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)]
}

const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d]
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d]
const halfUp = ([over, under]: Fraction): bigint => (2n * over + under) / (2n * under)
const up = ([over, under]: Fraction): bigint => (over + under - 1n) / under

const decimal = fc
  .tuple(
    fc.integer({ min: 0, max: 99_999 }),
    fc.integer({ min: 0, max: 999_999_999 }),
    fc.integer({ min: 0, max: 9 }),
  )
  .map(([whole, digits, length]) =>
    length === 0 ? `${whole}` : `${whole}.${String(digits).padStart(9, '0').slice(0, length)}`,
  )

const tokens = fc.integer({ min: 0, max: 20_000_000 })
const seconds = fc.integer({ min: 0, max: 9_000_000_000 }).map(micros => micros / 1_000_000)

function someOf<T>(names: readonly Meter[], value: fc.Arbitrary<T>): fc.Arbitrary<{ [M in Meter]?: T }> {
  return fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true })
}

await t.test('a line costs the exact sum of its units times their prices, rounded half up once', async () => {
  const usage = fc.record({ tokens: someOf(tokenMeters, tokens), units: someOf(unitMeters, seconds) })
  fc.assert(
    fc.property(someOf(meters, decimal), usage, fc.option(decimal), (rubPerMillion, units, factor) => {
      const price = buildPrice({ model: 'm', rubPerMillion, factors: { batch: factor ?? undefined } })
      const used: Meters = { ...units.tokens, ...units.units }
      let sum: Fraction = [0n, 1n]
      for (const meter of meters) {
        const rate = ownRate(rubPerMillion, meter)
        if (rate === undefined) continue
        sum = plus(sum, times(fraction((used[meter] ?? 0).toFixed(6)), fraction(rate)))
      }
      if (factor !== null) sum = times(sum, fraction(factor))
      const expected = halfUp(sum)
      const line = priceLine(price, { meters: used, tier: factor === null ? 'standard' : 'batch' })
      return expected > 10n ** 15n
        ? line.amountMicros === 0 && line.isInvalid === true
        : BigInt(line.amountMicros) === expected
    }),
    { numRuns: 2000 },
  )
})

function ownRate(rates: { [M in Meter]?: string }, meter: Meter): string | undefined {
  const text = {
    audioInput: 'input',
    imageInput: 'input',
    audioOutput: 'output',
    imageOutput: 'output',
  } as const
  if (rates[meter] !== undefined) return rates[meter]
  if (meter === 'cachedAudioInput') return rates.cachedInput ?? rates.input
  return meter in text ? rates[text[meter as keyof typeof text]] : undefined
}

await t.test('half a micro-rouble is rounded up, once for the whole line', async t => {
  const price = buildPrice({ model: 'm', rubPerMillion: { input: '0.25', output: '0.25' } })
  t.equal(priceLine(price, { meters: { input: 1 } }).amountMicros, 0)
  t.equal(priceLine(price, { meters: { input: 2 } }).amountMicros, 1)
  t.equal(priceLine(price, { meters: { input: 1, output: 1 } }).amountMicros, 1)
})

await t.test(
  'side meters without a price cost nothing and are named; audio and images cost as text',
  async t => {
    const price = buildPrice({ model: 'm', rubPerMillion: { input: '10', output: '20' } })
    const line = priceLine(price, {
      meters: {
        input: 1,
        cachedInput: 5,
        cacheWrite5m: 6,
        cacheWrite1h: 7,
        audioInput: 2,
        imageInput: 3,
        audioOutput: 4,
        imageOutput: 5,
        searches: 1,
      },
    })
    t.equal(line.amountMicros, 10 * (1 + 2 + 3) + 20 * (4 + 5))
    t.strictSame(line.unpriced, ['cachedInput', 'cacheWrite5m', 'cacheWrite1h', 'searches'])
    t.strictSame(priceLine(price, { meters: { searches: 0 } }).unpriced, [], 'zero units need no price')
  },
)

await t.test('cached audio costs as cached text, else as text', async t => {
  const withCache = buildPrice({
    model: 'm',
    rubPerMillion: { input: '10', cachedInput: '1', audioInput: '50' },
  })
  t.equal(priceLine(withCache, { meters: { cachedAudioInput: 3 } }).amountMicros, 3)
  const without = buildPrice({ model: 'm', rubPerMillion: { input: '10', audioInput: '50' } })
  t.equal(priceLine(without, { meters: { cachedAudioInput: 3 } }).amountMicros, 30)
})

await t.test('a unit is priced by its variant, else a shorter variant, else without one', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerUnit: { 'images/1024x1024/high': '15.5', 'images/1024x1024': '4', images: '1', searches: '0.9' },
    rubPerMillion: { characters: '1500' },
  })
  const cost = (variant: string | undefined): number =>
    priceLine(price, { meters: { images: 2 }, ...(variant === undefined ? {} : { variant }) }).amountMicros
  t.equal(cost('1024x1024/high'), 31_000_000)
  t.equal(cost('1024x1024/low'), 8_000_000)
  t.equal(cost('512x512/high'), 2_000_000)
  t.equal(cost(undefined), 2_000_000)
  t.equal(priceLine(price, { meters: { searches: 3 }, variant: '1024x1024/high' }).amountMicros, 2_700_000)
  t.equal(priceLine(price, { meters: { characters: 2000 } }).amountMicros, 3_000_000)
})

await t.test('a prompt one token above the threshold is priced entirely at the higher rate', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '100', cachedInput: '10', output: '200' },
    above: [{ inputTokens: 1000, mode: 'whole', rubPerMillion: { input: '300', output: '400' } }],
  })
  t.equal(
    priceLine(price, { meters: { input: 900, cachedInput: 100, output: 1 } }).amountMicros,
    900 * 100 + 100 * 10 + 200,
  )
  t.equal(
    priceLine(price, { meters: { input: 901, cachedInput: 100, output: 1 } }).amountMicros,
    901 * 300 + 100 * 10 + 400,
    'a meter that the tier does not name keeps its rate',
  )
})

await t.test('an excess tier prices the tokens above its threshold, uncached text first', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '1', cachedInput: '1', output: '1' },
    above: [
      { inputTokens: 200, mode: 'excess', rubPerMillion: { input: '100', cachedInput: '50' } },
      { inputTokens: 100, mode: 'excess', rubPerMillion: { input: '10', cachedInput: '5' } },
    ],
  })
  const cost = (units: Meters): number => priceLine(price, { meters: units }).amountMicros
  t.equal(cost({ input: 100 }), 100)
  t.equal(cost({ input: 101 }), 110)
  t.equal(cost({ input: 250 }), 100 + 100 * 10 + 50 * 100)
  t.equal(cost({ cachedInput: 150, input: 100 }), 100 + 50 * 5 + 50 * 10 + 50 * 100)
  t.equal(cost({ cachedInput: 250 }), 100 + 100 * 5 + 50 * 50)
  t.equal(cost({ input: 101, output: 7 }), 110 + 7)
})

await t.test('the factor of the served tier multiplies the line; a tier without one is named', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '3' },
    factors: { batch: '0.5', priority: '2' },
  })
  t.equal(priceLine(price, { meters: { input: 3 }, tier: 'batch' }).amountMicros, 5, '4.5 rounded up')
  t.equal(priceLine(price, { meters: { input: 3 }, tier: 'priority' }).amountMicros, 18)
  const flex = priceLine(price, { meters: { input: 3 }, tier: 'flex' })
  t.equal(flex.amountMicros, 9)
  t.equal(flex.unpricedTier, 'flex')
  t.equal(priceLine(price, { meters: { input: 3 }, tier: 'default' }).unpricedTier, undefined)
})

await t.test('impossible counts of a provider cost nothing and are marked invalid', async t => {
  const price = buildPrice({ model: 'm', rubPerMillion: { input: '100', output: '100' } })
  for (const units of [-1, NaN, Infinity, -Infinity, 2 ** 53, 1e300]) {
    const line = priceLine(price, { meters: { input: units, output: 7 } })
    t.equal(line.amountMicros, 700, `${units} tokens`)
    t.equal(line.isInvalid, true)
  }
  const absurd = priceLine(price, { meters: { input: Number.MAX_SAFE_INTEGER } })
  t.equal(absurd.amountMicros, 0)
  t.equal(absurd.isInvalid, true)
})

await t.test('expected usage costs at least as much as the same usage, rounded up', async () => {
  const tier = fc.record({
    inputTokens: fc.integer({ min: 0, max: 20_000_000 }),
    mode: fc.constantFrom('whole' as const, 'excess' as const),
    rubPerMillion: fc.record({ input: decimal, output: decimal }),
  })
  const rates = fc.record({ input: decimal, output: decimal })
  fc.assert(
    fc.property(
      rates,
      fc.array(tier, { maxLength: 3 }),
      tokens,
      tokens,
      (rubPerMillion, above, input, output) => {
        const price = buildPrice({ model: 'm', rubPerMillion, above })
        const line = { meters: { input, output } }
        const least = priceLine(price, line)
        if (least.isInvalid === true) return true
        const flat = buildPrice({ model: 'm', rubPerMillion })
        const plain = up(
          plus(
            times([BigInt(input), 1n], fraction(rubPerMillion.input)),
            times([BigInt(output), 1n], fraction(rubPerMillion.output)),
          ),
        )
        return (
          priceAtMost(price, line) >= least.amountMicros &&
          BigInt(priceAtMost(flat, line)) === (plain > 10n ** 15n ? 10n ** 15n : plain)
        )
      },
    ),
    { numRuns: 1000 },
  )
})
