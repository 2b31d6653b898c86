import t, { type Test } from 'tap'
import { runHere } from '../cli/run-gateway.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const server = await startPostgres(t)

/** A token of output costs a rouble; everything else is free. */
function configOf(origin: string, store: string): ConfigSections {
  return {
    store,
    providers: {
      openai: {
        credentials: ['sk-x'],
        streamUsage: 'as-sent',
        dialects: { openai: { baseUrl: `${origin}/v1` } },
      },
    },
    models: {
      'test-model': {
        provider: 'openai',
        outputTokensMax: 60,
        rubPerMillion: { input: '0', output: '1000000' },
      },
    },
  }
}

function answerOf(tokens: number): ReturnType<typeof plainAnswer> {
  const body = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'test-model',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: tokens, total_tokens: 3 + tokens },
  }
  return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(body))
}

function ask({ url }: TestGateway, key: string, tokens: number): Promise<ClientAnswer> {
  const body = { model: 'test-model', max_tokens: tokens, messages: [{ role: 'user', content: 'Hello' }] }
  return send(`${url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json'],
    body: JSON.stringify(body),
  })
}

await t.test(
  'a gateway on PostgreSQL charges, and the command line reads and changes the same store',
  async t => {
    const upstream = await startRawUpstream(t, () => answerOf(2))
    const gateway = await startTestGateway(t, {
      config: configOf(upstream.origin, await server.createDatabase()),
      rub: 10,
    })
    const { accountId, configFile } = gateway
    const run = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runHere([...words, '--config', configFile])
      if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
      return stdout
    }

    const answer = await ask(gateway, gateway.key, 5)
    t.equal(answer.status, 200)
    t.match(await gateway.chargeOf(answer.requestId), { amount: '2.000000', usage: { output: 2 }, flags: [] })
    t.match(JSON.parse(await run('balance', '--account', accountId, '--json')), {
      balance: '8.000000',
      held: '0.000000',
    })
    t.match(JSON.parse(await run('charges', '--account', accountId, '--json')), {
      requestId: answer.requestId,
    })
    t.match(JSON.parse(await run('account', 'list', '--json')), { id: accountId })

    await run('account', 'credit', accountId, '--rub', '1.5', '--reason', 'more')
    t.equal((await gateway.balance()).balanceMicros, 9_500_000)
    const made = JSON.parse(
      await run('key', 'create', '--account', accountId, '--budget-rub', '3', '--json'),
    ) as {
      readonly id: string
      readonly key: string
    }
    t.equal((await ask(gateway, made.key, 1)).status, 200, 'the key works when the command returns')
    const overBudget = await ask(gateway, made.key, 2)
    t.equal(overBudget.status, 402)
    t.match(String(overBudget.body), /key's budget has 1\.000000 left/)
    await run('key', 'revoke', made.id)
    t.equal((await ask(gateway, made.key, 1)).status, 401, 'at once')

    t.match(await run('verify'), /in order/)
    const backup = await runHere(['backup', 'copy.db', '--config', configFile])
    t.equal(backup.code, 1)
    t.match(backup.stderr, /pg_dump/)
    t.notMatch(gateway.logLines.join(''), /:password@/, 'the password is not logged')
  },
)

/** Sends 500 requests at once; none ends, and releases its hold, before all have been admitted or refused. */
async function askAtOnce(t: Test, stores: { readonly store: string; readonly count: number }): Promise<void> {
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
  const upstream = await startRawUpstream(t, async () => {
    await decided
    return answerOf(1)
  })
  const config = configOf(upstream.origin, stores.store)
  const first = await startTestGateway(t, { config, rub: 7.5 })
  const gateways = [first]
  while (gateways.length < stores.count) gateways.push(await startTestGateway(t, { config, beside: first }))

  let refused = 0
  const answers = await Promise.all(
    Array.from({ length: 500 }, async (_, index) => {
      const answer = await ask(gateways[index % gateways.length] ?? first, first.key, 1)
      if (answer.status === 402) refused += 1
      if (refused === 493) decide()
      return answer
    }),
  )
  const count = (status: number): number => answers.filter(answer => answer.status === status).length
  t.equal(count(200), 7)
  t.equal(count(402), 493)
  t.equal(upstream.requests.length, 7)
  t.match(await first.balance(), { balanceMicros: 500_000, heldMicros: 0, availableMicros: 500_000 })
  t.equal((await first.charges()).length, 7)
  t.strictSame(await first.breaches(), [])
}

await t.test('of 500 concurrent requests on a balance for 7, exactly 7 are admitted', async t => {
  await t.test('on SQLite', t => askAtOnce(t, { store: 'sqlite:data/gateway.db', count: 1 }))
  for (const count of [1, 3]) {
    await t.test(`on PostgreSQL with ${count}`, async t =>
      askAtOnce(t, { store: await server.createDatabase(), count }),
    )
  }
})
