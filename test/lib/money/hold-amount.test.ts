import t from 'tap'
import { amountMicrosMax } from '../../../lib/money/amount.ts'
import { buildPrice } from '../../../lib/money/build-price.ts'
import { holdAmount } from '../../../lib/money/hold-amount.ts'
import type { HoldBasis } from '../../../lib/money/hold-amount.ts'

const price = buildPrice({
  model: 'm',
  rubPerMillion: { input: '300', output: '1500' },
  rubPerUnit: { images: '4', 'images/1024x1024': '7' },
})

function amount(basis: Partial<HoldBasis>): number {
  return holdAmount(price, {
    textBytes: 0,
    bytesPerToken: 3,
    mediaMicros: 0,
    outputTokens: 0,
    candidates: 1,
    ...basis,
  })
}

await t.test('text is counted by bytes, output by its cap for every candidate', async t => {
  t.equal(amount({ textBytes: 30 }), 10 * 300)
  t.equal(amount({ textBytes: 31 }), 11 * 300, 'a part of a token is a token')
  t.equal(amount({ textBytes: 30, outputTokens: 100, candidates: 2 }), 10 * 300 + 200 * 1500)
})

await t.test('media and units of the request are added', async t => {
  t.equal(amount({ textBytes: 30, mediaMicros: 12_345 }), 10 * 300 + 12_345)
  t.equal(amount({ units: { images: 2 } }), 8_000_000)
  t.equal(amount({ units: { images: 2 }, variant: '1024x1024' }), 14_000_000)
})

await t.test('a fraction of a micro-rouble is held whole', async t => {
  const cheap = buildPrice({ model: 'm', rubPerMillion: { input: '0.01' } })
  t.equal(
    holdAmount(cheap, { textBytes: 3, bytesPerToken: 3, mediaMicros: 0, outputTokens: 0, candidates: 1 }),
    1,
  )
})

await t.test('the dearest rate that the prompt may reach is held', async t => {
  const tiered = buildPrice({
    model: 'm',
    rubPerMillion: { input: '100', output: '1' },
    above: [
      { inputTokens: 10, mode: 'whole', rubPerMillion: { input: '200' } },
      { inputTokens: 1000, mode: 'whole', rubPerMillion: { input: '900' } },
    ],
  })
  const basis = { bytesPerToken: 1, mediaMicros: 0, outputTokens: 0, candidates: 1 }
  t.equal(holdAmount(tiered, { ...basis, textBytes: 10 }), 1000)
  t.equal(holdAmount(tiered, { ...basis, textBytes: 11 }), 2200)
})

await t.test('a model that answers in sound is held for at the price of sound', async t => {
  const spoken = buildPrice({ model: 'm', rubPerMillion: { input: '1', audioOutput: '50' } })
  const basis = { textBytes: 0, bytesPerToken: 3, mediaMicros: 0, outputTokens: 2, candidates: 1 }
  t.equal(holdAmount(spoken, basis), 100)
})

await t.test('impossible counts of a request never make a small hold', async t => {
  t.equal(amount({ outputTokens: 1e300 }), amountMicrosMax)
  t.equal(amount({ outputTokens: Infinity }), amountMicrosMax)
  t.equal(amount({ outputTokens: NaN }), amountMicrosMax)
  t.equal(amount({ candidates: 1e18, outputTokens: 1e9 }), amountMicrosMax)
  t.equal(amount({ textBytes: 30, candidates: -5, outputTokens: 100 }), 3000)
  t.equal(amount({ units: { images: -5 } }), amountMicrosMax)
})

await t.test('what is asked for pictures holds for as many of them, at the price of pictures', async t => {
  const painted = buildPrice({ model: 'm', rubPerMillion: { input: '1', output: '10', imageOutput: '100' } })
  const basis = { textBytes: 0, bytesPerToken: 3, mediaMicros: 0, outputTokens: 1000, candidates: 3 }
  t.equal(holdAmount(painted, { ...basis, units: { images: 3 } }), 300_000)
  t.equal(holdAmount(painted, basis), 30_000, 'a chat gets text')
})
