import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceLine } from '../../../lib/money/price-line.ts'
import type { Meters } from '../../../lib/money/usage.ts'
import { payableUsage } from '../../../lib/settlement/decide-owed.ts'

type Rates = Readonly<Record<string, string>>

/** What was told at which price, roubles for a million tokens and for a unit, and what of it is charged. */
interface Row {
  readonly told: Meters
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
  'speech is paid for by its tokens where those have a price': {
    told: spoken,
    rubPerMillion: { input: '600', audioOutput: '12000', characters: '15000' },
    charged: { input: 90, audioOutput: 1250 },
    micros: 54_000 + 15_000_000,
  },
  'speech is paid for by its characters where its tokens have none, and its text with them': {
    told: spoken,
    rubPerMillion: { input: '600', characters: '15000' },
    charged: { characters: 100 },
    micros: 1_500_000,
  },
  'what is heard is paid for by its seconds where those have a price': {
    told: heard,
    rubPerMillion: { input: '100', audioInput: '500' },
    rubPerUnit: { audioSeconds: '0.5' },
    charged: { input: 9, audioSeconds: 4 },
    micros: 900 + 2_000_000,
  },
  'what is heard is paid for by its tokens where its seconds have none': {
    told: heard,
    rubPerMillion: { input: '100', audioInput: '500' },
    charged: { input: 9, audioInput: 375 },
    micros: 900 + 187_500,
  },
  'a cache without a price is paid for as what is read, and writes to it may cost more': {
    told: cached,
    rubPerMillion: { input: '100' },
    charged: { input: 1903 },
    micros: 190_300,
    isShort: true,
  },
  'what a cache keeps for an hour is paid for as for five minutes where that alone has a price': {
    told: cached,
    rubPerMillion: { input: '100', cachedInput: '10', cacheWrite5m: '125' },
    charged: { input: 3, cachedInput: 1000, cacheWrite5m: 900 },
    micros: 300 + 10_000 + 112_500,
    isShort: true,
  },
  'a cache that is read without a price of its own costs no more than its provider bills': {
    told: { input: 3, cachedInput: 1000 },
    rubPerMillion: { input: '100' },
    charged: { input: 1003 },
    micros: 100_300,
  },
  'what is read in no way that has a price stays as it was told': {
    told: cached,
    rubPerMillion: { output: '400' },
    charged: cached,
    micros: 0,
  },
}

for (const [name, { told, rubPerMillion, rubPerUnit, charged, micros, isShort }] of Object.entries(rows)) {
  await t.test(name, async t => {
    const price = buildPrice({
      model: 'm',
      ...(rubPerMillion && { rubPerMillion }),
      ...(rubPerUnit && { rubPerUnit }),
    })

    const payable = payableUsage({ meters: told }, price)

    t.same(payable.usage.meters, charged)
    t.equal(payable.isShort, isShort === true)
    t.equal(priceLine(price, payable.usage).amountMicros, micros)
  })
}
