import OpenAI from 'openai'
import t from 'tap'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { install } from '../fixtures/installation.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { until } from '../fixtures/until.ts'

// One server, and commands beside it as an operator types them. Each must be in effect when it returns.
const installation = install(t)
const { json, run } = installation
const serving = await installation.serve()
const { url } = serving

/** The result for a client: "answered" or "empty", or the status, code and message of the refusal. */
async function ask(key: string, model = 'sandbox-chat'): Promise<string> {
  const client = openaiClient({ url, key }).withOptions({ maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  try {
    const answer = await client.chat.completions.create({ model, messages, max_completion_tokens: 20 })
    return answer.choices[0]?.message.content === '' ? 'empty' : 'answered'
  } catch (error) {
    if (error instanceof OpenAI.APIError) return `${error.status} ${error.code}: ${error.message}`
    throw error
  }
}

async function only<T>(...words: readonly string[]): Promise<T> {
  const [first, ...others] = await json<T>(...words)
  if (first === undefined || others.length > 0)
    throw new Error(`gateway ${words.join(' ')} did not print one document`)
  return first
}

interface Made {
  readonly id: string
  readonly key: string
}

const account = await only<{ id: string }>('account', 'create', '--email', 'client@example.org')

await t.test('an account, its money and its key work on the very next request', async t => {
  const made = await only<Made>('key', 'create', '--account', account.id, '--name', 'first')
  t.match(await ask(made.key), /^402 insufficient_quota: .*0\.000000 are available/)
  await only('account', 'credit', account.id, '--rub', '25.50', '--reason', 'invoice 7')
  t.equal(await ask(made.key), 'answered')

  const charges = await json<ChargeReport>('charges', '--account', account.id)
  t.match(charges, [{ key: made.id, model: 'sandbox-chat', outcome: 'completed' }])
  const balance = await only<{ balance: string; held: string; available: string }>(
    'balance',
    '--account',
    account.id,
  )
  const left = (25.5 - Number(charges[0]?.amount)).toFixed(6)
  t.match(balance, { balance: left, held: '0.000000', available: left })
})

await t.test('the limits of a key apply from its first request on', async t => {
  const limited = await only<Made>('key', 'create', '--account', account.id, '--models', 'sandbox-em*')
  t.match(await ask(limited.key), /^403 permission_denied/)
  const elsewhere = await only<Made>('key', 'create', '--account', account.id, '--ips', '203.0.113.0/24')
  t.match(await ask(elsewhere.key), /^403 permission_denied: .*127\.0\.0\.1/)
  const poor = await only<Made>('key', 'create', '--account', account.id, '--budget-rub', '0.000001')
  t.match(await ask(poor.key), /^402 insufficient_quota: .*budget/)
  // The command is a process of its own, which a loaded machine may take seconds to start.
  const expiresAt = Date.now() + 10_000
  const expires = new Date(expiresAt).toISOString()
  const shortLived = await only<Made>('key', 'create', '--account', account.id, '--expires', expires)
  t.equal(await ask(shortLived.key), 'answered')
  await until(() => Date.now() > expiresAt)
  t.match(await ask(shortLived.key), /^401 invalid_api_key: .*has expired/)
})

await t.test('a revoked key fails on the very next request, and others do not', async t => {
  const [lost, kept] = [
    await only<Made>('key', 'create', '--account', account.id),
    await only<Made>('key', 'create', '--account', account.id),
  ]
  t.equal(await ask(lost.key), 'answered')
  t.equal((await run('key', 'revoke', lost.id)).code, 0)
  t.match(await ask(lost.key), /^401 invalid_api_key: .*was revoked/)
  t.equal(await ask(kept.key), 'answered')
})

await t.test('a credit that is sent twice with one idempotency key is booked once', async t => {
  const words = ['account', 'credit', account.id, '--rub', '10', '--reason', 'x', '--idempotency-key', 'i-1']
  const first = await only<{ balance: string }>(...words)
  t.equal((await only<{ balance: string }>(...words)).balance, first.balance)
})

await t.test('a command that fails exits with 1, one that is typed wrongly with 2', async t => {
  const cases: readonly (readonly [number, RegExp, readonly string[]])[] = [
    [1, /no account/i, ['key', 'create', '--account', 'nobody']],
    [1, /no account/i, ['account', 'credit', 'nobody', '--rub', '1', '--reason', 'x']],
    [1, /no key/i, ['key', 'revoke', 'nothing']],
    [1, /client@example\.org/, ['account', 'create', '--email', 'client@example.org']],
    [1, /no configuration at/, ['charges', '--config', '/nowhere/gateway.yaml']],
    [2, /unknown command/, ['charge']],
    [2, /unknown option/, ['charges', '--acount', account.id]],
  ]
  await Promise.all(
    cases.map(async ([code, message, words]) => {
      const result = await run(...words)
      t.equal(result.code, code, `${words.join(' ')}: ${result.stderr}`)
      t.match(result.stderr, message)
      t.notMatch(result.stderr, /\n {4}at /, 'no stack')
      t.equal(result.stdout, '')
    }),
  )
})

await t.test(
  'after SIGHUP new prices and models apply to the next request; an invalid file changes nothing',
  async t => {
    const { key } = await only<Made>('key', 'create', '--account', account.id)
    const own = `models:
  sandbox-chat: { provider: sandbox, outputTokensMax: 4096, rubPerMillion: { input: "200", cachedInput: "20", output: "800" } }
  cheap: { alias: sandbox-chat }
`
    const amounts = async (): Promise<number[]> =>
      (await json<ChargeReport>('charges', '--account', account.id)).map(charge => Number(charge.amount))
    const reread = async (message: string): Promise<void> => {
      const count = (): number => serving.lines.filter(line => line.includes(message)).length
      const before = count()
      serving.child.kill('SIGHUP')
      await until(() => count() > before)
    }

    t.match(await ask(key, 'cheap'), /^404 model_not_found/)
    t.equal(await ask(key), 'answered')
    const oldAmount = (await amounts()).at(-1)
    installation.edit('own.yaml', () => own)
    installation.edit('gateway.yaml', text =>
      text.replace(
        'include: [providers.yaml, models.yaml]',
        'include: [providers.yaml, models.yaml, own.yaml]',
      ),
    )
    await reread('the configuration was read again')
    t.equal(await ask(key, 'cheap'), 'answered')
    t.equal((await amounts()).at(-1), Number(oldAmount) * 2, 'at the new price')

    installation.edit('own.yaml', text =>
      text.replace('"200"', '"two hundred"').replace('provider: sandbox', 'provider: sandbx'),
    )
    await reread('the old one stays')
    const line = serving.lines.findLast(line => line.includes('the old one stays')) ?? ''
    t.match(line, /own\.yaml/)
    t.match(line, /models\.sandbox-chat\.rubPerMillion\.input/, 'where')
    t.match(line, /sandbox/, 'and the likely spelling')
    t.equal(await ask(key, 'cheap'), 'answered')

    installation.edit('own.yaml', () => own.replace('  cheap: { alias: sandbox-chat }\n', ''))
    await reread('the configuration was read again')
    t.match(await ask(key, 'cheap'), /^404 model_not_found/)
    t.equal((await amounts()).at(-1), Number(oldAmount) * 2, 'the last valid price was charged meanwhile')
  },
)

await t.test('verify passes while the server runs and after it has stopped', async t => {
  t.equal((await run('verify')).code, 0)
  t.equal(await serving.stop(), 0)
  t.equal((await run('verify')).code, 0)
  const made = await only<Made>('key', 'create', '--account', account.id)
  t.ok(made.key.startsWith('gw-'), 'and the commands still work')
})
