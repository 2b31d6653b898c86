import t from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const test = await startTestGateway(t, {
  config: {
    providers: { sandbox: {} },
    models: {
      'sandbox-slow': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } },
    },
  },
})
const { accountId, configFile } = test
const run = (...words: string[]) => runHere([...words, '--config', configFile])

function ask(): Promise<Response> {
  return fetch(`${test.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${test.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-slow',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    }),
  })
}

await t.test(
  'a stream that runs when its account is blocked ends and is charged; the next request is refused',
  async t => {
    const running = await ask()
    const reader = running.body?.getReader()
    await reader?.read()

    const blocked = await run('account', 'block', accountId, '--reason', 'stolen card', '--json')
    const refused = await ask()
    let ending = ''
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      ending += Buffer.from(part.value).toString()

    t.match(blocked, { code: 0, stderr: '' })
    t.match(JSON.parse(blocked.stdout), { id: accountId, blockedAt: /^\d{4}-/ })
    t.equal(refused.status, 403)
    t.match(await refused.json(), { error: { code: 'permission_denied', message: /is blocked/ } })
    t.match(ending, /data: \[DONE\]/)
    const charge = await test.chargeOf(running.headers.get('x-gateway-request-id') ?? '')
    t.match(charge, { outcome: 'completed', usageSource: 'provider' })
    t.not(charge?.amount, '0.000000')
    t.same(await test.breaches(), [])
  },
)

await t.test('support finds the account, sees the block and the money, and ends the block', async t => {
  const found = await run('account', 'find', test.key.slice(-4), '--json')
  const table = await run('account', 'find', accountId)
  const keys = await run('key', 'list', '--account', accountId, '--json')
  const refused = await run('key', 'create', '--account', accountId)
  const entries = await run('account', 'entries', accountId, '--json')
  const unblocked = await run('account', 'unblock', accountId, '--reason', 'his own card')
  const served = await ask()
  await served.text()

  t.match(JSON.parse(found.stdout), { id: accountId, blockedAt: /^\d{4}-/ })
  t.match(table.stdout, new RegExp(`^ID +EMAIL +NAME +BALANCE +BLOCKED\n${accountId} `))
  t.match(JSON.parse(keys.stdout), { state: 'blocked' })
  t.match(refused, { code: 1, stderr: /is blocked: gateway account unblock ends that/ })
  t.match(JSON.parse(entries.stdout), { kind: 'credit', amount: '1000.000000', source: 'operator' })
  t.match(unblocked, { code: 0, stdout: `account ${accountId} unblocked\n` })
  t.equal(served.status, 200)
})

await t.test('invalid searches, accounts and reasons are refused with an error message', async t => {
  const cases = [
    [['account', 'find', ''], 2, /<text>: is empty: give it a value/],
    [['account', 'find', 'x'.repeat(65_536)], 2, /a search takes 1 to 200 characters/],
    [['account', 'block', 'nobody', '--reason', 'x'], 1, /there is no account nobody/],
    [['account', 'block', accountId], 2, /--reason/],
    [['account', 'block', accountId, '--reason', ' '], 2, /--reason: takes 1 to 1000 characters/],
    [['account', 'block', 'house:cash', '--reason', 'x'], 1, /there is no account house:cash/],
    [['account', 'entries', 'nobody'], 1, /there is no account nobody/],
  ] as const
  for (const [words, code, stderr] of cases) t.match(await run(...words), { code, stdout: '', stderr })
  t.match(await run('account', 'find', '%'), { code: 0, stdout: 'no account\n' })
  t.equal((await ask()).status, 200, 'nothing was blocked')
})
