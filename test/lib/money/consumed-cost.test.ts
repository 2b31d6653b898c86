import fc from 'fast-check'
import t from 'tap'
import { amountMicrosMax } from '../../../lib/money/amount.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { costAtMost, costUsually, type Consumed } from '../../../lib/money/consumed-cost.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import type { Meters } from '../../../lib/money/usage.ts'

const rate = fc.option(
  fc.integer({ min: 0, max: 400 }).map(rubles => String(rubles)),
  { nil: undefined },
)
const rates = fc.record({
  input: fc.integer({ min: 1, max: 400 }).map(String),
  output: fc.integer({ min: 1, max: 400 }).map(String),
  cachedInput: rate,
  cacheWrite5m: rate,
  cacheWrite1h: rate,
  audioInput: rate,
  imageInput: rate,
  audioOutput: rate,
  imageOutput: rate,
})
const tokens = fc.integer({ min: 0, max: 400_000 })

interface Asked {
  readonly model: 'm'
  readonly rubPerMillion: Record<string, string>
  readonly above: readonly {
    inputTokens: number
    mode: 'whole' | 'excess'
    rubPerMillion: Record<string, string>
  }[]
}

const named = (of: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(of).filter((entry): entry is [string, string] => entry[1] !== undefined))

const prices = fc
  .tuple(rates, fc.option(fc.tuple(tokens, fc.constantFrom('whole', 'excess'), rates), { nil: undefined }))
  .map(([base, long]): Asked => ({
    model: 'm',
    rubPerMillion: named(base),
    above:
      long === undefined
        ? []
        : [
            {
              inputTokens: long[0] + 1,
              mode: long[1],
              rubPerMillion: named(long[2]),
            },
          ],
  }))

/** The same input as a provider may report it: written to a cache, or not. */
function reported(read: Meters, term: 'cacheWrite5m' | 'cacheWrite1h' | undefined): Meters {
  if (term === undefined) return read
  const { input = 0, ...others } = read
  return { ...others, [term]: input }
}

await t.test('no report of the same usage costs more than costAtMost', async t => {
  const runs = fc.property(
    prices,
    fc.record({ input: tokens, audioInput: tokens, imageInput: tokens }),
    tokens,
    fc.constantFrom(undefined, '5m' as const, '1h' as const),
    (input, read, outputTokens, cacheWrite) => {
      const price = buildPrice(input)
      const consumed: Consumed = { read, outputTokens, units: { requests: 1 }, cacheWrite }
      const most = costAtMost(price, consumed)
      const terms = { none: [], '5m': ['cacheWrite5m'], '1h': ['cacheWrite5m', 'cacheWrite1h'] } as const
      for (const term of [undefined, ...terms[cacheWrite ?? 'none']]) {
        for (const output of ['output', 'audioOutput', 'imageOutput'] as const) {
          const line = { meters: { ...reported(read, term), [output]: outputTokens } }
          const { amountMicros, unpriced } = priceLine(price, line)
          if (amountMicros > most) {
            throw new Error(
              `${output} after ${term ?? 'no write'}: ${amountMicros} > ${most}, ${unpriced.join()}`,
            )
          }
        }
      }
    },
  )
  fc.assert(runs, { numRuns: 5000 })
  t.pass('for 5,000 prices')
})

await t.test('fees count at their highest variant, and tiers do not multiply them', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '1', output: '1' },
    rubPerUnit: { searches: '1', 'searches/deep': '3', requests: '0.5' },
    factors: { priority: '2' },
  })
  const consumed: Consumed = {
    read: { input: 1_000_000 },
    outputTokens: 0,
    units: { searches: 2, requests: 1 },
  }

  t.equal(costAtMost(price, consumed), 1_000_000 + 6_000_000 + 500_000)
  t.equal(costAtMost(price, { ...consumed, wantedTier: 'priority' }), 2_000_000 + 6_000_000 + 500_000)
})

const rouble = 1_000_000
const drawn = (units: Meters, variant?: string): Consumed => ({ read: {}, outputTokens: 0, units, variant })

await t.test(
  'an image or video without a size costs at most its most expensive variant, with a size its own',
  async t => {
    for (const meter of ['images', 'videoSeconds'] as const) {
      const rubPerUnit = { [meter]: '1', [`${meter}/small`]: '0.5', [`${meter}/large`]: '4' }
      const price = buildPrice({ model: 'm', rubPerUnit })

      t.equal(costAtMost(price, drawn({ [meter]: 2 })), 8 * rouble)
      t.equal(costAtMost(price, drawn({ [meter]: 2 }, 'small')), rouble)
    }
    const plain = buildPrice({ model: 'm', rubPerUnit: { images: '5', 'images/small': '4' } })
    t.equal(
      costAtMost(plain, drawn({ images: 2 })),
      10 * rouble,
      'the plain price, when no variant costs more',
    )
  },
)

await t.test(
  'text for a model without a price for text costs as much as its most expensive input',
  async t => {
    const consumed: Consumed = {
      read: { input: 1_000_000, audioInput: 1_000_000 },
      outputTokens: 0,
      units: {},
    }
    for (const [audioInput, imageInput, roubles] of [
      ['3', '2', 6],
      ['2', '3', 5],
    ] as const) {
      const price = buildPrice({ model: 'm', rubPerMillion: { audioInput, imageInput, output: '1' } })
      t.equal(costAtMost(price, consumed), roubles * rouble)
      t.equal(costUsually(price, consumed), roubles * rouble)
    }
  },
)

await t.test('the usual output is text, else images where they are requested, else audio', async t => {
  const all = buildPrice({ model: 'm', rubPerMillion: { output: '1', audioOutput: '2', imageOutput: '3' } })
  const spoken = buildPrice({ model: 'm', rubPerMillion: { audioOutput: '2', imageOutput: '3' } })
  const images = buildPrice({ model: 'm', rubPerMillion: { imageOutput: '3' } })
  const consumed: Consumed = { read: {}, outputTokens: 1_000_000, units: {} }

  t.equal(costUsually(all, consumed), rouble)
  t.equal(costUsually(all, { ...consumed, units: { images: 1 } }), 3 * rouble)
  t.equal(costUsually(spoken, consumed), 2 * rouble)
  t.equal(costUsually(images, consumed), 3 * rouble)
})

await t.test(
  'a tier costs at most its own factor, an unknown one the highest, and never less than 1',
  async t => {
    const price = buildPrice({
      model: 'm',
      rubPerMillion: { input: '1', output: '1' },
      factors: { priority: '2', fast: '6', flex: '0.5' },
    })
    const costOf = (wantedTier: string): number =>
      costAtMost(price, { read: { input: 1_000_000 }, outputTokens: 0, units: {}, wantedTier }) / rouble

    t.strictSame(['default', 'flex', 'SERVICE_TIER_PRIORITY', 'fast+us', 'auto'].map(costOf), [1, 1, 2, 6, 6])
  },
)

await t.test('impossible counts never lower the cost, and never exceed the largest amount', async t => {
  const price = buildPrice({
    model: 'm',
    rubPerMillion: { input: '1', output: '1' },
    rubPerUnit: { searches: '1000000' },
    factors: { priority: '1000000' },
  })
  const consumed: Consumed = { read: { input: 1_000_000 }, outputTokens: 0, units: {} }

  t.equal(costAtMost(price, { ...consumed, outputTokens: -1_000_000 }), rouble)
  const most = [
    { ...consumed, units: { searches: Infinity } },
    { ...consumed, outputTokens: Infinity },
    { ...consumed, read: { input: Number.MAX_SAFE_INTEGER } },
    { ...consumed, read: { input: 1e15 }, wantedTier: 'priority' },
  ]
  for (const one of most) t.equal(costAtMost(price, one), amountMicrosMax)
})
