import { readFileSync } from 'node:fs'
import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'

const area = await startOperatorArea(t, {
  prices: { usdRub: '100', coefficient: '1.5' },
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      usdPerMillion: { input: '10', output: '40' },
      prices: [{ from: '2999-01-01', usdPerMillion: { input: '20', output: '80' } }],
    },
    own: { provider: 'sandbox', upstreamModel: 'sandbox-chat', rubPerMillion: { input: '7', output: '7' } },
  },
})
const { email } = await area.signUp()
const accountId = await area.accountOf(email)
await area.run('account', 'credit', accountId, '--rub', '1000', '--reason', 'r')
const { key } = await area.test.accounts.createKey({ accountId })
const desk = await area.operator('owner')
desk.headers['accept-language'] = 'en'

for (const model of ['chat', 'chat', 'own']) {
  const answer = await fetch(`${area.test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  if (answer.status !== 200) throw new Error(await answer.text())
}

/** The texts of the cells of a page's tables, row by row. */
function rowsOf(text: string): readonly string[] {
  return [...text.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

const inRoubles = (micros: number): string => {
  const text = (micros / 1e6).toFixed(6).replace(/0{1,4}$/, '')
  return micros < 10_000 ? text : (Math.round(micros / 1e4) / 100).toFixed(2)
}

await t.test('a preview shows the changed prices, and the past charges at these prices', async t => {
  const { stdout } = await area.run('charges', '--account', accountId, '--json')
  const charges = stdout
    .trim()
    .split('\n')
    .map(
      line => JSON.parse(line) as { model: string; amount: string; usage: { input: number; output: number } },
    )
    .filter(({ model }) => model === 'chat')
  t.equal(charges.length, 2)
  const before = readFileSync(area.test.configFile, 'utf8')

  const { status, text } = await desk.post(
    '/prices/preview',
    { usdRub: '120,0', coefficient: '1.75' },
    { from: '/prices' },
  )

  t.equal(status, 200)
  const charged = charges.reduce((sum, one) => sum + Math.round(Number(one.amount) * 1e6), 0)
  // 10 and 40 dollars per million, at 120 roubles and 1.75: micro-roubles per token.
  const next = charges.reduce((sum, { usage }) => sum + usage.input * 2100 + usage.output * 8400, 0)
  const difference = next - charged
  t.ok(charged > 0 && difference > 0)
  const rows = rowsOf(text)
  t.ok(
    rows.includes(`chat 2 ${inRoubles(charged)} ₽ ${inRoubles(next)} ₽ +${inRoubles(difference)} ₽`),
    rows.join('\n'),
  )
  t.ok(rows.includes('chat input 1,500 2,100 +40.00 % per 1,000,000'), rows.join('\n'))
  t.ok(rows.includes('chat output 6,000 8,400 +40.00 % per 1,000,000'))
  t.notOk(rows.some(row => row.startsWith('own ')))
  t.match(text, `prices: { usdRub: &#39;120.0&#39;, coefficient: &#39;1.75&#39; }`)
  t.equal(readFileSync(area.test.configFile, 'utf8'), before)
  t.match((await desk.get('/prices?q=chat')).text, '1,500', 'the prices in force stay unchanged')

  const same = await desk.post('/prices/preview', { coefficient: '1.50' }, { from: '/prices' })
  t.match(same.text, 'No price changes.', 'the rate stays unchanged')
})

await t.test('an invalid rate or coefficient, or a thousandfold change, is refused', async t => {
  const wrong: readonly (readonly [fields: Record<string, string>, said: string | RegExp])[] = [
    [{}, 'Give a rate, a coefficient, or both'],
    [{ usdRub: '0' }, 'A rate is a number above 0'],
    [{ usdRub: '-92.5' }, 'A rate is a number above 0'],
    [{ usdRub: '1e2' }, 'A rate is a number above 0'],
    [{ usdRub: 'dear' }, 'A rate is a number above 0'],
    [{ usdRub: '1000000' }, 'A rate is a number above 0'],
    [{ usdRub: '100000' }, 'chat, input would cost 1,500,000 ₽ instead of 1,500 ₽'],
    [{ coefficient: '0' }, 'A coefficient is a number above 0'],
    [{ coefficient: '-1' }, 'A coefficient is a number above 0'],
    [{ coefficient: '130' }, 'A coefficient is a number above 0'],
    [{ coefficient: '0.013' }, 'chat, input would cost 13 ₽ instead of 1,500 ₽'],
    [{ coefficient: '1'.repeat(64_000) }, /./],
  ]
  for (const [fields, said] of wrong) {
    const { status, text } = await desk.post('/prices/preview', fields, { from: '/prices' })
    t.equal(status, 422, JSON.stringify(fields).slice(0, 80))
    t.match(text, said)
    t.notMatch(text, 'To use these prices')
  }
})

await t.test('the history of a price has its future versions, and those that charges used', async t => {
  const { status, text } = await desk.get('/prices/history?model=chat')
  t.equal(status, 200)
  const [configured = '', made = '', charged = ''] = text.split('<section class="card">').slice(1)
  t.match(rowsOf(configured)[1], /^01\/01\/2999, 03:00 MSK to come input 3,000 /)
  t.match(rowsOf(configured)[3], /^the beginning in force input 1,500 /)
  t.match(made, /<dd>1\.5<\/dd>/)
  t.match(rowsOf(charged)[1], / MSK 2 input 1,500 per 1,000,000$/)
  t.equal(rowsOf(charged).length, 3, 'a version that no charge used is not listed')
  t.match((await desk.get('/prices/history?model=own')).text, 'set in roubles')
  t.equal((await desk.get('/prices/history?model=%25')).status, 404)
})
