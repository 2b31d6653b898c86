import fc from 'fast-check'
import t from 'tap'
import { buildPrice } from '../../../lib/money/build-price.ts'
import { costAtMost, type Consumed } from '../../../lib/money/consumed-cost.ts'
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

/** How a provider may come to report what was read: a part of it written to a cache, or none. */
function reported(read: Meters, term: 'cacheWrite5m' | 'cacheWrite1h' | undefined): Meters {
  if (term === undefined) return read
  const { input = 0, ...others } = read
  return { ...others, [term]: input }
}

await t.test('no way to read and to write costs more than the most', async t => {
  const runs = fc.property(
    prices,
    fc.record({ input: tokens, audioInput: tokens, imageInput: tokens }),
    tokens,
    fc.constantFrom(undefined, '5m' as const, '1h' as const),
    (asked, read, outputTokens, cacheWrite) => {
      const price = buildPrice(asked)
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
  t.pass('in 5,000 prices')
})

await t.test('each fee is at its dearest, and none of them is multiplied by a tier', async t => {
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
