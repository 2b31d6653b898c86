import t from 'tap'
import { startOperatorArea } from '../fixtures/operator-area.ts'

// Actions of the pages are also available as commands, with the same words in the log.

const area = await startOperatorArea(t, {
  timeZone: 'Asia/Vladivostok',
  prices: { usdRub: '100', coefficient: '1.5' },
  models: {
    chat: {
      provider: 'sandbox',
      upstreamModel: 'sandbox-chat',
      usdPerMillion: { input: '10', output: '40' },
      prices: [{ from: '2999-01-01', usdPerMillion: { input: '20', output: '80' } }],
    },
  },
})
const { browser, email } = await area.signUp()
const accountId = await area.accountOf(email)
await area.run('account', 'credit', accountId, '--rub', '1000', '--reason', 'invoice 17')
const { key } = await area.test.accounts.createKey({ accountId })
const asked = await fetch(`${area.test.url}/v1/chat/completions`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
})
t.equal(asked.status, 200)
await asked.text()

/** Every line of JSON that a command prints. */
async function lines(...words: string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, stdout, stderr } = await area.run(...words, '--json')
  t.equal(code, 0, stderr)
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

await t.test('a command ends the sessions of a customer, and is in the log', async t => {
  t.equal((await browser.get('/balance')).status, 200)

  const { code, stdout } = await area.run('account', 'end-sessions', accountId, '--reason', 'a lost phone')

  t.equal(code, 0)
  t.match(stdout, 'are signed out')
  t.match((await browser.get('/balance')).location, /^\/sign-in/)
  t.match(await lines('operator', 'log', '--action', 'end-sessions'), [
    { action: 'end-sessions', account: accountId, reason: 'a lost phone' },
  ])
  const nobody = await area.run('account', 'end-sessions', 'nobody', '--reason', 'a lost phone')
  t.equal(nobody.code, 1)
  t.equal(nobody.stderr, 'gateway: there is no account nobody: gateway account list shows them all\n')
  const silent = await area.run('account', 'end-sessions', accountId, '--reason', ' ')
  t.same([silent.code, silent.stderr], [2, 'gateway: --reason: takes 1 to 1000 characters\n'])
})

await t.test('the log is filtered by account, operator, action and day of the zone', async t => {
  const all = await lines('operator', 'log', '--account', accountId)
  t.same(
    all.map(({ action }) => action),
    ['end-sessions', 'credit'],
  )
  const today = new Date(Date.now() + 10 * 3_600_000).toISOString().slice(0, 10)
  const before = new Date(Date.now() - 14 * 3_600_000).toISOString().slice(0, 10)
  t.equal((await lines('operator', 'log', '--day', today, '--account', accountId)).length, 2)
  t.equal((await lines('operator', 'log', '--day', before)).length, 0)
  t.equal((await lines('operator', 'log', '--operator', 'olga@example.org')).length, 0)
  t.equal((await lines('operator', 'log', '--operator', String(all[0]?.['operator']))).length, 2)
  const table = await area.run('operator', 'log', '--action', 'credit')
  t.match(table.stdout, new RegExp(`^${today} \\d\\d:\\d\\d:\\d\\d\\+10:00 .* credit .*invoice 17$`, 'm'))

  const day = await area.run('operator', 'log', '--day', '2026-02-30')
  t.same([day.code, day.stderr], [2, 'gateway: --day: "2026-02-30" is not a day such as 2027-01-31\n'])
  const action = await area.run('operator', 'log', '--action', 'dance')
  t.match(action, { code: 2, stderr: /^gateway: --action: "dance" is none of block, unblock, / })
})

await t.test('a preview by command has the amounts of the page, and changes nothing', async t => {
  const [charge] = (await lines('charges', '--account', accountId)) as unknown as [
    { amount: string; usage: { input: number; output: number } },
  ]
  // 10 and 40 dollars per million, at 120 roubles and 1.75: micro-roubles per token.
  const after = (charge.usage.input * 2100 + charge.usage.output * 8400) / 1e6

  const [found] = await lines('prices', 'preview', '--usd-rub', '120', '--coefficient', '1.75')

  t.match(found, {
    changes: [
      { model: 'chat', meter: 'input', before: '1500', after: '2100' },
      { model: 'chat', meter: 'output', before: '6000', after: '8400' },
    ],
    last30Days: [{ model: 'chat', lines: 1, charged: charge.amount, after: after.toFixed(6) }],
  })
  const { stdout } = await area.run('prices', 'preview', '--usd-rub', '120', '--coefficient', '1.75')
  t.match(stdout, "Nothing was changed. To apply it, write  prices: { usdRub: '120', coefficient: '1.75' }")
  t.match(await lines('models'), [{ model: 'chat', rubPerMillion: { input: '1500' } }])
  for (const [words, says] of [
    [[], 'name --usd-rub, --coefficient or both'],
    [['--usd-rub', '0'], '--usd-rub: "0" is not a rate such as 92.50, greater than 0'],
    [['--coefficient', '-1'], '--coefficient: "-1" is not a factor such as 1.30, greater than 0'],
  ] as const) {
    const { code, stderr } = await area.run('prices', 'preview', ...words)
    t.same([code, stderr], [2, `gateway: ${says}\n`])
  }
  const jump = await area.run('prices', 'preview', '--usd-rub', '92500')
  t.match(jump, {
    code: 1,
    stderr: /^gateway: chat, input: 1500 would become 1387500 ₽, more than ten times/,
  })
})

await t.test('a command prints past and future prices of a model', async t => {
  const [found] = await lines('prices', 'history', 'chat')

  t.match(found, {
    model: 'chat',
    configured: [
      { state: 'to come', rubPerMillion: { input: '3000', output: '12000' } },
      { state: 'in force', from: null, rubPerMillion: { input: '1500', output: '6000' } },
    ],
    charged: [{ lines: 1, rubPerMillion: { input: '1500', output: '6000' } }],
  })
  const { stdout } = await area.run('prices', 'history', 'chat')
  t.match(stdout, /^2999-01-01 10:00:00\+10:00 +to come +input +3000 +a million$/m)
  t.match(stdout, /^always +in force +output +6000 +a million$/m)
  const unknown = await area.run('prices', 'history', 'chta')
  t.match(unknown, { code: 1, stderr: /has no model "chta"; did you mean "chat"\?\ngateway models --all/ })
})

await t.test('the last day of a key is a day of the zone, on the page and by command', async t => {
  const { id } = await area.test.accounts.createKey({ accountId, name: 'phone' })
  const desk = await area.operator('owner')
  const path = `/customers/${accountId}/keys/${id}`
  const form = { name: 'phone', budget: '', period: 'total', models: '', addresses: '', reason: 'r' }

  const edited = await desk.post(path, { ...form, expires: '2999-01-31' }, { from: path })

  t.equal(edited.location, `/customers/${accountId}?notice=done`)
  t.match(await lines('key', 'find', id), [{ expiresAt: '2999-01-31T14:00:00.000Z' }])
  const { text } = await desk.get(path)
  for (const word of ['value="2999-01-31"', 'Asia/Vladivostok']) t.match(text, word)
  await area.run('key', 'edit', id, '--expires', '2999-03-02', '--reason', 'r')
  t.match(
    (await desk.get(path)).text,
    'value="2999-03-01"',
    'the command sets the moment at which the day is over',
  )
})
