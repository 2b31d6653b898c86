import t from 'tap'
import { balanceOf } from '../../../lib/ledger/balance-book.ts'
import { noRisk } from '../../../lib/ledger/risk.ts'
import type { RequestFacts } from '../../../lib/dialects/dialect.ts'
import type { Hold } from '../../../lib/ledger/ledger.ts'
import { SpendingWatch } from '../../../lib/metering/spending-watch.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { chargeOf, roubles, testPrice } from '../../contracts/store-under-test.ts'

// A token of output costs ten roubles here, and one of input a rouble.

const facts: RequestFacts = { isStreaming: true, candidates: 1, textBytes: 30, media: [], objects: [] }
const hold: Hold = {
  exchangeId: 'e',
  sequence: 0,
  accountId: 'a',
  keyId: 'k',
  likelyMicros: roubles(1000),
  worstMicros: roubles(1000),
  durable: Promise.resolve(),
  isDurable: true,
}

const readingOf = (unmeteredTextBytes: number, more: Partial<UsageReading> = {}): UsageReading => ({
  lines: [],
  isTerminal: false,
  hasError: false,
  hasOutput: true,
  outputTextBytes: unmeteredTextBytes,
  unmeteredTextBytes,
  flags: [],
  ...more,
})

/** A watch over an account with so much money beside the hold; its tokens have so many bytes when counted. */
function watchOver(availableRub: number, bytesPerToken: number) {
  const seen = { looks: 0, counts: 0, spent: 0, failures: 0 }
  let isFailing = false
  const watch = new SpendingWatch({
    hold,
    price: testPrice,
    facts,
    ledger: {
      balance() {
        seen.looks += 1
        if (isFailing) return Promise.reject(new Error('no balance'))
        const money = { netMicros: roubles(availableRub), heldMicros: 0, worstMicros: 0, paidMicros: 0 }
        return Promise.resolve(balanceOf(money, noRisk))
      },
    },
    owed(reading) {
      seen.counts += 1
      return Promise.resolve(chargeOf({ output: Math.ceil(reading.unmeteredTextBytes / bytesPerToken) }))
    },
    onSpent: () => (seen.spent += 1),
    onFailure: () => (seen.failures += 1),
  })
  const progress = async (...args: Parameters<typeof readingOf>): Promise<typeof seen> => {
    watch.onProgress(readingOf(...args))
    await new Promise(resolve => setImmediate(resolve))
    return { ...seen }
  }
  return { progress, fail: () => (isFailing = true) }
}

await t.test('an answer within its hold is not looked at', async t => {
  const { progress } = watchOver(0, 4)
  t.match(await progress(200), { looks: 0, counts: 0 })
  t.match(await progress(290), { looks: 0, counts: 0 }, '97 tokens and the input')
  t.match(await progress(300), { looks: 1 })
})

await t.test(
  'beyond its hold the balance is asked for, and nothing is counted while it suffices',
  async t => {
    const { progress } = watchOver(1_000_000, 4)
    for (let bytes = 0; bytes <= 200_000; bytes += 1000) await progress(bytes)
    const { looks, counts, spent } = await progress(200_000)
    t.equal(looks, 2, 'at the hold, and halfway from there to the limit')
    t.equal(counts, 0)
    t.equal(spent, 0)
  },
)

await t.test('near the limit tokens are counted, and what they say counts', async t => {
  const { progress } = watchOver(1000, 6)
  const seen = []
  for (let bytes = 0; bytes <= 1700; bytes += 100) seen.push(await progress(bytes))
  // 2,000 roubles and the tolerance are 250 tokens: 750 bytes as they are reckoned, 1,500 as they are counted.
  t.equal(seen[15]?.spent, 0)
  t.equal(seen[17]?.spent, 1)
  const counts = seen[17]?.counts ?? 0
  t.ok(counts > 1 && counts < 12, `${counts} counts`)
  t.match(await progress(100_000), { spent: 1, counts }, 'once is enough')
})

await t.test('usage that the provider tells is what counts', async t => {
  const { progress } = watchOver(0, 4)
  const lines = [{ meters: { input: 10, output: 126 } }]
  t.match(await progress(0, { lines }), { looks: 1, counts: 1, spent: 0 }, 'what is owed decides')
  t.match(await progress(600, { lines }), { spent: 1 })
})

await t.test('a look that fails is told once, and the answer goes on', async t => {
  const { progress, fail } = watchOver(0, 4)
  fail()
  t.match(await progress(1000), { failures: 1, spent: 0 })
  t.match(await progress(5000), { failures: 1, looks: 1, spent: 0 })
})
