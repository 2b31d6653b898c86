import t from 'tap'
import { buildPrice, canonicalPrice } from '../../../lib/money/pricing.ts'

await t.test('the same price has the same hash, however it is written', async t => {
  const one = buildPrice({
    model: 'm',
    rubPerMillion: { input: '0.150', output: '10' },
    factors: { batch: '0.50' },
  })
  const two = buildPrice({
    model: 'm',
    factors: { batch: '0.5' },
    rubPerMillion: { output: '10.0', input: '00.15' },
  })
  t.equal(one.hash, two.hash)
  t.match(one.hash, /^[\w-]{43}$/)
})

await t.test('every difference changes the hash', async t => {
  const base = { model: 'm', rubPerMillion: { input: '1' } }
  const others = [
    { ...base, model: 'n' },
    { ...base, from: '2026-01-01' },
    { ...base, rubPerMillion: { input: '1.000000001' } },
    { ...base, rubPerMillion: { output: '1' } },
    { ...base, rubPerUnit: { images: '1' } },
    { ...base, above: [{ inputTokens: 5, mode: 'whole' as const, rubPerMillion: { input: '2' } }] },
    { ...base, above: [{ inputTokens: 5, mode: 'excess' as const, rubPerMillion: { input: '2' } }] },
    { ...base, factors: { batch: '0.5' } },
  ]
  t.equal(new Set([base, ...others].map(input => buildPrice(input).hash)).size, others.length + 1)
})

await t.test('a stored price is rebuilt from its text', async t => {
  const price = buildPrice({
    model: 'm',
    from: '2026-01-01',
    rubPerMillion: { input: '1' },
    rubPerUnit: { 'images/1024x1024': '3' },
    above: [{ inputTokens: 5, mode: 'whole', rubPerMillion: { input: '2' } }],
  })
  t.strictSame(buildPrice(JSON.parse(canonicalPrice(price))), price)
})

await t.test('the error of a wrong value names its path', async t => {
  t.throws(() => buildPrice({ model: 'm', rubPerMillion: { input: '-1' } }), /rubPerMillion\.input: "-1"/)
  t.throws(
    () => buildPrice({ model: 'm', rubPerMillion: { inptu: '1' } }),
    /rubPerMillion\.inptu: "inptu" is not a meter/,
  )
  t.throws(() => buildPrice({ model: 'm', rubPerUnit: { 'pictures/big': '1' } }), /"pictures" is not a meter/)
  t.throws(() => buildPrice({ model: 'm', factors: { batch: '1e3' } }), /factors\.batch/)
  t.throws(() => buildPrice({ model: 'm', from: 'soon' }), /from: "soon"/)
  const tier = { inputTokens: -1, mode: 'whole' as const, rubPerMillion: {} }
  t.throws(() => buildPrice({ model: 'm', above: [tier] }), /above\[0\]\.inputTokens/)
})
