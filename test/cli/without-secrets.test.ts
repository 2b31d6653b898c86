import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sellerYaml, seller } from '../fixtures/companies.ts'
import { runHere } from './run-gateway.ts'

// Commands that contact no provider run where a provider's secret is not set: on the accountant's machine, or by cron.

const since2020 = {
  ...seller,
  tax: [{ from: '2020-01-01', rate: 'none', basis: 'п. 2 ст. 346.11 НК РФ' }],
} as const
const own = `listen: { port: 0 }
store: sqlite:g.db
egress:
  fi-1: { url: 'http://gateway:\${GATEWAY_TEST_SECRET_THAT_IS_NOT_SET}@203.0.113.7:3128' }
providers:
  somebody:
    like: openai
    credentials: ['\${GATEWAY_TEST_SECRET_THAT_IS_NOT_SET}']
    egress: [fi-1]
    dialects: { openai: { baseUrl: 'http://127.0.0.1:9/v1' } }
models:
  m: { provider: somebody, rubPerMillion: { input: '1', output: '1' } }
  d: { provider: somebody, usdPerMillion: { input: '1', output: '1' } }
prices: { usdRub: { from: cbr, egress: fi-1 } }
payments: { provider: sandbox }
operatorArea: { listen: { host: 127.0.0.1, port: 0 } }
accountArea:
  listen: { host: 127.0.0.1, port: 0 }
  mail: { url: 'smtp://gateway:\${GATEWAY_TEST_SECRET_THAT_IS_NOT_SET}@mail.example', from: 'a@example.org' }
alarms:
  webhooks: { pager: { url: 'https://hooks.example.org', secret: '\${GATEWAY_TEST_SECRET_THAT_IS_NOT_SET}', egress: fi-1 } }
`

await t.test('commands that contact no provider need no secret of a provider', async t => {
  const config = join(t.testdir(), 'gateway.yaml')
  writeFileSync(config, own + sellerYaml(since2020))
  const list = join(t.testdirName, 'list.json')
  writeFileSync(
    list,
    JSON.stringify({ m: { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-6 } }),
  )
  const run = (...words: readonly string[]) => runHere([...words, '--config', config])
  const reason = ['--reason', 'r'] as const
  const made = await run('account', 'create', '--email', 'a@example.org', '--json')
  const { id: account } = JSON.parse(made.stdout) as { id: string }
  await run('account', 'credit', account, '--rub', '100', ...reason)
  const keyed = await run('key', 'create', '--account', account, '--json')
  const { id: key } = JSON.parse(keyed.stdout) as { id: string }
  for (const words of [
    ['account', 'list'],
    ['account', 'show', account],
    ['account', 'find', 'example.org'],
    ['account', 'debit', account, '--rub', '1', ...reason],
    ['account', 'block', account, ...reason],
    ['account', 'unblock', account, ...reason],
    ['account', 'entries', account],
    ['key', 'edit', key, '--budget-rub', '10', ...reason],
    ['key', 'list', '--all'],
    ['key', 'find', 'sk'],
    ['key', 'revoke', key],
    ['balance', '--account', account],
    ['charges'],
    ['top'],
    ['payment', 'list'],
    ['statement', 'list'],
    ['documents', 'list', '--month', '2026-01'],
    ['documents', 'close', '--month', '2026-01'],
    ['documents', 'advances', '--month', '2026-01'],
    ['documents', 'export', '--month', '2026-01', '--out', `${t.testdirName}/documents`],
    ['operator', 'add', '--email', 'olga@example.org', '--role', 'owner'],
    ['operator', 'list'],
    ['operator', 'log'],
    ['operator', 'remove', '--email', 'olga@example.org'],
    ['alarms'],
    ['prices', 'rate'],
    ['prices', 'preview', '--usd-rub', '95'],
    ['prices', 'history', 'm'],
    ['prices', 'import', '--from', list, '--dry-run'],
    ['models', '--all'],
    ['verify'],
    ['backup', `${t.testdirName}/copy.db`],
  ]) {
    const { code, stderr } = await run(...words)
    t.equal(code, 0, `${words.slice(0, 2).join(' ')}: ${stderr}`)
  }
  const { stdout } = await run('models', '--all')
  t.match(stdout, /^m .*somebody/m)
  const refund = await run('payment', 'refund', 'none', '--rub', '1', ...reason)
  t.match(refund.stderr, 'the payment sandbox runs with the server', 'the secret is not the reason')
  const served = await run('check')
  t.match(
    served.stdout + served.stderr,
    'GATEWAY_TEST_SECRET_THAT_IS_NOT_SET',
    'commands that contact providers need it',
  )
})
