import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import type { Meters } from '../../../lib/money/usage.ts'
import { payableUsage } from '../../../lib/settlement/decide-owed.ts'

type Rates = Readonly<Record<string, string>>

/** The reported meters, the prices (roubles per million tokens and per unit), and the meters that are charged. */
interface Row {
  readonly reported: Meters
  readonly rubPerMillion?: Rates
  readonly rubPerUnit?: Rates
  readonly charged: Meters
  readonly micros: number
  readonly isShort?: true
}

const spoken = { characters: 100, input: 90, audioOutput: 1250 }
const heard = { input: 9, audioSeconds: 4, audioInput: 375 }
const cached = { input: 3, cachedInput: 1000, cacheWrite5m: 500, cacheWrite1h: 400 }

const rows: Readonly<Record<string, Row>> = {
  'speech is charged by its tokens where those have a price': {
    reported: spoken,
    rubPerMillion: { input: '600', audioOutput: '12000', characters: '15000' },
    charged: { input: 90, audioOutput: 1250 },
    micros: 54_000 + 15_000_000,
  },
  'speech is charged only by its characters where its audio tokens have no price': {
    reported: spoken,
    rubPerMillion: { input: '600', characters: '15000' },
    charged: { characters: 100 },
    micros: 1_500_000,
  },
  'transcribed audio is charged by its seconds where those have a price': {
    reported: heard,
    rubPerMillion: { input: '100', audioInput: '500' },
    rubPerUnit: { audioSeconds: '0.5' },
    charged: { input: 9, audioSeconds: 4 },
    micros: 900 + 2_000_000,
  },
  'transcribed audio is charged by its tokens where its seconds have no price': {
    reported: heard,
    rubPerMillion: { input: '100', audioInput: '500' },
    charged: { input: 9, audioInput: 375 },
    micros: 900 + 187_500,
  },
  'cached tokens without a price are charged as input, and the charge may be short for cache writes': {
    reported: cached,
    rubPerMillion: { input: '100' },
    charged: { input: 1903 },
    micros: 190_300,
    isShort: true,
  },
  'one-hour cache writes are charged as five-minute ones where only those have a price': {
    reported: cached,
    rubPerMillion: { input: '100', cachedInput: '10', cacheWrite5m: '125' },
    charged: { input: 3, cachedInput: 1000, cacheWrite5m: 900 },
    micros: 300 + 10_000 + 112_500,
    isShort: true,
  },
  'cache reads without a price are charged as input, and the charge is not short': {
    reported: { input: 3, cachedInput: 1000 },
    rubPerMillion: { input: '100' },
    charged: { input: 1003 },
    micros: 100_300,
  },
  'input without any price stays as reported': {
    reported: cached,
    rubPerMillion: { output: '400' },
    charged: cached,
    micros: 0,
  },
}

for (const [name, { reported, rubPerMillion, rubPerUnit, charged, micros, isShort }] of Object.entries(
  rows,
)) {
  await t.test(name, async t => {
    const price = buildPrice({
      model: 'm',
      ...(rubPerMillion && { rubPerMillion }),
      ...(rubPerUnit && { rubPerUnit }),
    })

    const payable = payableUsage({ meters: reported }, price)

    t.same(payable.usage.meters, charged)
    t.equal(payable.isShort, isShort === true)
    t.equal(priceLine(price, payable.usage).amountMicros, micros)
  })
}
