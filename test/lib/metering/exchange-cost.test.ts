import t from 'tap'
import type { RequestFacts } from '../../../lib/dialects/dialect.ts'
import { costSeen, exchangeCost } from '../../../lib/metering/exchange-cost.ts'
import { seenResponse } from '../../../lib/metering/place-hold.ts'
import { UsualOutputs } from '../../../lib/metering/usual-outputs.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { costTarget } from '../../fixtures/cost-target.ts'

const price = buildPrice({
  model: 'm',
  rubPerMillion: { input: '100', cachedInput: '10', output: '500' },
  rubPerUnit: { searches: '1' },
})
const target = costTarget({
  price,
  kind: 'anthropic',
  model: 'm',
  outputTokensMax: 50_000,
  contextTokensMax: 200_000,
})
const hold = { likelyOutputTokens: 4096, mediaRub: {} }
const facts: RequestFacts = {
  isStreaming: true,
  candidates: 1,
  textBytes: 400,
  textTokens: { most: 200, likely: 100 },
  media: [],
  objects: [],
}
const input = (200 + 64) * 100
const quietly = [{ field: 'thinking.budget_tokens', budgetTokens: 0 }]
const nothingRead = { lines: [], isTerminal: false, hasError: false, hasOutput: false, flags: [] }
const text = (bytes: number) => ({ outputTextBytes: bytes, unmeteredTextBytes: bytes })

t.test('a stream holds a slice and hidden reasoning, a response in one piece its cap', async t => {
  const streamed = exchangeCost({ target, facts, hold })
  const whole = exchangeCost({ target, facts: { ...facts, isStreaming: false }, hold })
  const quiet = exchangeCost({ target, facts: { ...facts, reasoning: quietly }, hold })

  t.equal(streamed.worstMicros, input + (2048 + 16_384) * 500)
  t.equal(streamed.strictMicros, input + 50_000 * 500)
  t.equal(whole.worstMicros, whole.strictMicros)
  t.equal(quiet.worstMicros, input + 2048 * 500)
})

t.test('the likely cost is based on usual outputs, and is limited by the cap', async t => {
  const usual = new UsualOutputs()
  for (let count = 0; count < 50; count++) usual.observe('account', 'm', { output: 1000, unseen: 0 })

  const first = exchangeCost({ target, facts, hold })
  const later = exchangeCost({
    target,
    facts,
    hold,
    usualOutputTokens: usual.ofAccount('account', 'm')?.output,
  })
  const capped = exchangeCost({ target, facts: { ...facts, outputTokensCap: 10 }, hold })

  t.equal(first.likelyMicros, 100 * 100 + 4096 * 500)
  t.equal(later.likelyMicros, 100 * 100 + 1000 * 500)
  t.equal(capped.likelyMicros, 100 * 100 + 10 * 500)
  t.equal(usual.ofAccount('another', 'm'), undefined)
  t.equal(usual.ofModel('m')?.output, 1000, 'the model has the usual outputs of all accounts')
})

t.test('the text of a stream raises its cost, with a slice ahead and up to the cap', async t => {
  const quiet = { target, facts: { ...facts, reasoning: quietly }, hold }
  const costAfter = (bytes: number) => costSeen(quiet, seenResponse({ ...nothingRead, ...text(bytes) }))

  t.equal(costAfter(0), exchangeCost(quiet).worstMicros)
  t.equal(costAfter(3000), input + (1000 + 2048) * 500)
  t.equal(costAfter(10_000_000), exchangeCost(quiet).strictMicros)
})

t.test('the input that a stream reports replaces the estimated input', async t => {
  const reading = {
    ...nothingRead,
    ...text(0),
    lines: [{ meters: { input: 10, cachedInput: 90, output: 1 } }],
  }

  const cost = costSeen({ target, facts: { ...facts, reasoning: quietly }, hold }, seenResponse(reading))

  t.equal(cost, 10 * 100 + 90 * 10 + 2049 * 500)
})

t.test('a stream that shows its tools holds one use more than it has shown', async t => {
  const searching = {
    ...facts,
    reasoning: quietly,
    showsTools: true as const,
    tools: [{ type: 'websearch20250305' }],
  }
  const costAfter = (toolUses: number): number =>
    costSeen({ target, facts: searching, hold }, seenResponse({ ...nothingRead, ...text(0), toolUses }))

  t.equal(costAfter(1) - costAfter(0), 200_000 * 100 + 1_000_000)
  t.equal(costAfter(9), costAfter(30), 'no more uses than the provider makes')
})
