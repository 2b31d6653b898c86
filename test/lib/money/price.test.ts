import t from 'tap'
import { buildPrice } from '../../../lib/money/pricing.ts'
import { priceInForce } from '../../../lib/money/price.ts'

const first = buildPrice({ model: 'm', rubPerMillion: { input: '1' } })
const second = buildPrice({ model: 'm', from: '2026-03-01', rubPerMillion: { input: '2' } })
const third = buildPrice({ model: 'm', from: '2026-05-01T12:00:00Z', rubPerMillion: { input: '3' } })

await t.test('the price in force is the one with the latest past start', async t => {
  const prices = [third, first, second]
  t.equal(priceInForce(prices, Date.parse('2026-02-28T23:59:59.999Z')), first)
  t.equal(priceInForce(prices, Date.parse('2026-03-01T00:00:00Z')), second)
  t.equal(priceInForce(prices, Date.parse('2026-05-01T11:59:59Z')), second)
  t.equal(priceInForce(prices, Date.parse('2027-01-01')), third)
})

await t.test('before the first price there is none', async t => {
  t.equal(priceInForce([second], Date.parse('2026-01-01')), undefined)
  t.equal(priceInForce([], 0), undefined)
})
