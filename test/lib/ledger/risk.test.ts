import t from 'tap'
import { checkSums, countedWorst } from '../../../lib/ledger/risk.ts'

await t.test('sums of a hold that are no amounts, or decrease, are refused', async t => {
  t.doesNotThrow(() => checkSums({ likelyMicros: 0, worstMicros: 0 }))
  t.doesNotThrow(() => checkSums({ likelyMicros: 1, worstMicros: 2, strictMicros: 3 }))
  for (const sums of [
    { likelyMicros: -1, worstMicros: 1 },
    { likelyMicros: 2, worstMicros: 1 },
    { likelyMicros: 1, worstMicros: 3, strictMicros: 2 },
    { likelyMicros: 0.5, worstMicros: 1 },
    { likelyMicros: 1, worstMicros: NaN },
    { likelyMicros: 1, worstMicros: Infinity },
    { likelyMicros: 1, worstMicros: 2, strictMicros: 2 ** 53 },
  ]) {
    t.throws(() => checkSums(sums), RangeError, JSON.stringify(sums))
  }
})

await t.test('without a risk the strict sum counts, with one the worst sum', async t => {
  const sums = { worstMicros: 2, strictMicros: 3 }

  t.equal(countedWorst(sums, 0), 3)
  t.equal(countedWorst(sums, 1), 2)
  t.equal(countedWorst({ worstMicros: 2 }, 0), 2)
})
