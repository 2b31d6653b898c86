import t from 'tap'
import type { RequestFacts } from '../../../lib/dialects/dialect.ts'
import {
  BalanceInsufficientError,
  type HeldSums,
  type Hold,
  LedgerUnavailableError,
} from '../../../lib/ledger/ledger.ts'
import { exchangeCost, sliceTokens, type CostBasis } from '../../../lib/metering/exchange-cost.ts'
import { HoldGrower } from '../../../lib/metering/place-hold.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { testPrice } from '../../contracts/store-under-test.ts'

// A token of output costs ten roubles in these tests.
const tokenMicros = 10_000_000

const facts: RequestFacts = { isStreaming: true, candidates: 1, textBytes: 30, media: [], objects: [] }
const basis: CostBasis = {
  target: {
    upstreamModelName: 'gpt-4o',
    price: testPrice,
    provider: { kind: 'openai' },
    model: { contextTokensMax: 128_000, outputTokensMax: 100_000 },
  },
  facts,
  hold: { likelyOutputTokens: 100, mediaRub: {} },
}

/** A reading with the given tokens of text, three bytes each, that no usage has reported yet. */
const readingOf = (tokens: number, more: Partial<UsageReading> = {}): UsageReading => ({
  lines: [],
  isTerminal: false,
  hasError: false,
  hasOutput: true,
  outputTextBytes: tokens * 3,
  unmeteredTextBytes: tokens * 3,
  flags: [],
  ...more,
})

/** A hold that can grow by `roomMicros`, once the ledger has failed `unavailableTimes` times. */
function growerWith(roomMicros: number, unavailableTimes = 0) {
  const grown: HeldSums[] = []
  const cuts: string[] = []
  const failures: unknown[] = []
  let failuresLeft = unavailableTimes
  let { likelyMicros, worstMicros } = exchangeCost(basis)
  const mostMicros = worstMicros + roomMicros
  const hold: Hold = {
    exchangeId: 'e',
    sequence: 0,
    accountId: 'a',
    keyId: 'k',
    get likelyMicros() {
      return likelyMicros
    },
    get worstMicros() {
      return worstMicros
    },
    durable: Promise.resolve(),
    isDurable: true,
  }
  const balance = {
    balanceMicros: 0,
    debtMicros: 0,
    heldMicros: 0,
    worstMicros: 0,
    paidMicros: 0,
    riskMicros: 0,
    availableMicros: 0,
  }
  const grower = new HoldGrower({
    hold,
    basis,
    price: testPrice,
    ledger: {
      async growHold(_hold, totals) {
        await new Promise(resolve => setImmediate(resolve))
        if (failuresLeft-- > 0) throw new LedgerUnavailableError('the store cannot be written')
        if (totals.worstMicros > mostMicros)
          throw new BalanceInsufficientError(totals.likelyMicros, totals.worstMicros, balance)
        grown.push(totals)
        ;({ likelyMicros, worstMicros } = totals)
      },
    },
    onSpent: error => cuts.push(error.code),
    onFailure: error => failures.push(error),
  })
  const progress = async (...args: Parameters<typeof readingOf>): Promise<void> => {
    grower.onProgress(readingOf(...args))
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  return { progress, grown, cuts, failures, hold, aheadTokens: () => grower.aheadTokens }
}

await t.test('a hold grows by slices, half a slice ahead, with few calls to the ledger', async t => {
  const { progress, grown, cuts, hold } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  for (let tokens = 0; tokens <= 20_000; tokens += 100) {
    await progress(tokens)
    t.ok(hold.worstMicros >= (tokens + sliceTokens / 2) * tokenMicros, `${tokens} tokens are covered`)
    t.ok(hold.likelyMicros <= hold.worstMicros)
  }
  t.ok(grown.length <= 20, `${grown.length} times for 20,000 tokens`)
  t.ok(hold.likelyMicros >= 18_000 * tokenMicros, 'the relayed text is likely')
  t.same(cuts, [])
})

await t.test('a grower reports for how many more tokens the hold has room', async t => {
  const { progress, hold, aheadTokens } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  t.equal(aheadTokens(), 0, 'nothing is read yet')
  for (let tokens = 0; tokens <= 20_000; tokens += 100) {
    await progress(tokens)
    t.ok(aheadTokens() >= sliceTokens / 2, `${aheadTokens()} ahead of ${tokens}`)
    t.ok(
      hold.worstMicros >= (tokens + aheadTokens()) * tokenMicros,
      `${tokens} tokens and those ahead are covered`,
    )
  }
})

await t.test('while the ledger decides, no room is reported', async t => {
  const { progress, aheadTokens } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  await progress(0)
  const decided = Promise.all([progress(1500), progress(1800)])
  t.equal(aheadTokens(), 0)
  await decided
  t.ok(aheadTokens() >= sliceTokens / 2, 'the hold has grown')
})

await t.test('while the hold cannot grow, the reported room shrinks', async t => {
  const { progress, aheadTokens } = growerWith(0)
  await progress(0)
  const before = aheadTokens()
  await progress(1500)
  t.ok(aheadTokens() < before - 1400, `${before}, then ${aheadTokens()}`)
})

await t.test('without money and risk the response is cut once', async t => {
  const { progress, cuts, failures } = growerWith(3000 * tokenMicros)
  for (let tokens = 0; tokens <= 2500; tokens += 100) await progress(tokens)
  t.same(cuts, [], 'there is money for this text and a slice')
  for (let tokens = 2600; tokens <= 6000; tokens += 100) await progress(tokens)
  t.same(cuts, ['balance_insufficient'])
  t.same(failures, [])
})

await t.test('the hold follows a provider that exceeds the cap of its model', async t => {
  const { progress, grown } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  await progress(200_000)
  t.ok((grown[0]?.worstMicros ?? 0) >= 200_000 * tokenMicros)
})

await t.test('a reported usage replaces the estimate from the text', async t => {
  const { progress, hold } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  const lines = [{ meters: { input: 10, output: 5000 } }]
  await progress(0, { lines, outputTextBytes: 600, unmeteredTextBytes: 0 })
  t.ok(hold.worstMicros >= (5000 + sliceTokens / 2) * tokenMicros)
  t.ok(hold.likelyMicros >= 5000 * tokenMicros)
})

await t.test('the likely sum counts each reported line by its meters, and the unmetered text', async t => {
  const { progress, hold } = growerWith(Number.MAX_SAFE_INTEGER / 2)
  const lines = [
    { meters: { input: 10, output: 2000, imageOutput: 3000 } },
    { model: 'advisor', meters: { input: 3000, output: 1000 } },
  ]

  await progress(500, { lines })

  // Input costs one rouble a token, output ten; the text has 500 tokens.
  t.equal(hold.likelyMicros, (3010 + 10 * (2000 + 3000 + 1000 + 500)) * 1_000_000)
})

await t.test('an unavailable ledger is reported once, and called again until it decides', async t => {
  const { progress, grown, cuts, failures } = growerWith(3000 * tokenMicros, 3)
  for (let tokens = 0; tokens <= 2500; tokens += 100) await progress(tokens)
  t.match(failures, [{ name: 'LedgerUnavailableError' }])
  t.equal(failures.length, 1)
  t.ok(grown.length > 0, 'the hold has grown afterwards')
  t.same(cuts, [])
  for (let tokens = 2600; tokens <= 6000; tokens += 100) await progress(tokens)
  t.same(cuts, ['balance_insufficient'], 'the response is still cut when money runs out')
})
