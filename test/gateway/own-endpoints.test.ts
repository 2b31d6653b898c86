import t, { type Test } from 'tap'
import { TextDensity } from '../../lib/http/text-density.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const answer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-5',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
}
const chat = { model: 'gpt-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }

async function start(t: Test, sections: ConfigSections = {}) {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
  )
  const gateway = await startTestGateway(t, {
    rub: 10,
    config: {
      providers: {
        openai: { credentials: ['secret'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        'gpt-5': { provider: 'openai', rubPerMillion: { input: '100', cachedInput: '10', output: '400' } },
      },
      ...sections,
    },
  })
  const ask = async (key: string, method: string, path: string, body?: object) => {
    const response = await send(gateway.url + path, {
      method,
      headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json'],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { ...response, json: JSON.parse(response.body.toString()) as Record<string, unknown> }
  }
  return { upstream, gateway, ask }
}

t.test('the balance is that of the account, in roubles, and is free to read', async t => {
  const { upstream, gateway, ask } = await start(t)
  await ask(gateway.key, 'POST', '/v1/chat/completions', chat)

  const { status, json } = await ask(gateway.key, 'GET', '/gateway/v1/balance')

  t.equal(status, 200)
  // 10 x 100 + 20 x 400 roubles a million.
  t.match(json, {
    balance: '9.991000',
    debt: '0.000000',
    held: '0.000000',
    available: '9.991000',
    worst: '0.000000',
    risk: '40.000000',
    paid: '10.000000',
  })
  t.equal(upstream.requests.length, 1, 'nothing was forwarded for it')
  t.equal((await gateway.charges()).length, 1)
})

t.test('a key shows its limits and its usage of them, never its value', async t => {
  const { gateway, ask } = await start(t)
  const made = await gateway.accounts.createKey({
    accountId: gateway.accountId,
    name: 'ci',
    models: ['gpt-*'],
    budgetMicros: 1_000_000,
    budgetPeriod: 'month',
  })
  await ask(made.key, 'POST', '/v1/chat/completions', chat)

  const { json, body } = await ask(made.key, 'GET', '/gateway/v1/key')

  t.match(json, {
    id: made.id,
    account: gateway.accountId,
    name: 'ci',
    lastFour: made.key.slice(-4),
    models: ['gpt-*'],
    expiresAt: null,
    budget: {
      limit: '1.000000',
      period: 'month',
      spent: '0.009000',
      held: '0.000000',
      available: '0.991000',
    },
  })
  t.notMatch(body.toString(), made.key)
})

t.test('a key shows its rate limits and its usage of them', async t => {
  const { gateway, ask } = await start(t, {
    plugins: [
      'auth',
      'model-router',
      { 'rate-limit': { requestsPerMinute: 10, tokensPerMinute: 1000, concurrentRequests: 3 } },
      'upstream-proxy',
      'usage-tap',
    ],
  })
  const before = await ask(gateway.key, 'GET', '/gateway/v1/key')
  t.same(before.json['rateLimits'], {
    requestsPerMinute: { limit: 10, used: 0, available: 10, resetsAt: null },
    tokensPerMinute: { limit: 1000, used: 0, available: 1000, resetsAt: null },
    concurrentRequests: { limit: 3, used: 0, available: 3 },
  })
  const { requestId } = await ask(gateway.key, 'POST', '/v1/chat/completions', chat)
  await gateway.chargeOf(requestId)

  const after = await ask(gateway.key, 'GET', '/gateway/v1/key')

  t.match(after.json['rateLimits'], {
    // The request for the key counts too.
    requestsPerMinute: { limit: 10, used: 2, available: 8, resetsAt: /^\d{4}-.*Z$/ },
    tokensPerMinute: { limit: 1000, used: 30, available: 970, resetsAt: /^\d{4}-.*Z$/ },
  })
})

t.test('without the plugin a key has no rate limits', async t => {
  const { gateway, ask } = await start(t)
  const { json } = await ask(gateway.key, 'GET', '/gateway/v1/key')
  t.equal(json['rateLimits'], null)
})

t.test('a charge can be read as soon as its response has ended', async t => {
  const { gateway, ask } = await start(t)
  const { requestId } = await ask(gateway.key, 'POST', '/v1/chat/completions', chat)

  const { status, json } = await ask(gateway.key, 'GET', `/gateway/v1/charges/${requestId}`)

  t.equal(status, 200)
  t.match(json, { requestId, amount: '0.009000', usage: { input: 10, output: 20 }, usageSource: 'provider' })
})

t.test('charges are returned in pages, oldest first, and only those of the requesting key', async t => {
  const { gateway, ask } = await start(t)
  const { key: otherKey } = await gateway.accounts.createKey({ accountId: gateway.accountId })
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) {
    ids.push((await ask(gateway.key, 'POST', '/v1/chat/completions', chat)).requestId)
  }
  const { requestId: foreign } = await ask(otherKey, 'POST', '/v1/chat/completions', chat)

  const first = await ask(gateway.key, 'GET', '/gateway/v1/charges?limit=3')
  const second = await ask(
    gateway.key,
    'GET',
    `/gateway/v1/charges?limit=3&after=${String(first.json['next'])}`,
  )
  const other = await ask(gateway.key, 'GET', `/gateway/v1/charges/${foreign}`)
  const future = await ask(gateway.key, 'GET', '/gateway/v1/charges?since=2999-01-01')

  const idsOf = (json: Record<string, unknown>) =>
    (json['charges'] as { requestId: string }[]).map(row => row.requestId)
  t.same(idsOf(first.json), ids.slice(0, 3))
  t.same(idsOf(second.json), ids.slice(3))
  t.equal(second.json['next'], null)
  t.equal(other.status, 404)
  t.same(future.json, { charges: [], next: null })
})

t.test('a bare date of since begins at midnight in the zone of the configuration', async t => {
  // These names have the opposite sign. At any hour one of the two zones has another date than UTC.
  for (const [timeZone, aheadHours] of [
    ['Etc/GMT-14', 14],
    ['Etc/GMT+12', -12],
  ] as const) {
    const { gateway, ask } = await start(t, { timeZone })
    await ask(gateway.key, 'POST', '/v1/chat/completions', chat)
    const dayThere = (daysOn: number): string =>
      new Date(Date.now() + aheadHours * 3_600_000 + daysOn * 86_400_000).toISOString().slice(0, 10)
    const since = async (day: string): Promise<unknown> =>
      ((await ask(gateway.key, 'GET', `/gateway/v1/charges?since=${day}`)).json['charges'] as unknown[])
        .length

    t.equal(await since(dayThere(0)), 1, `${timeZone}, today`)
    t.equal(await since(dayThere(1)), 0, `${timeZone}, tomorrow`)
  }
})

t.test('a quote has the hold and the price of a request, and sends nothing', async t => {
  const { upstream, gateway, ask } = await start(t)

  const { status, json } = await ask(gateway.key, 'POST', '/gateway/v1/quote', chat)

  const density = new TextDensity()
  density.add(Buffer.from(JSON.stringify(chat)))
  const likely = ((density.tokens.likely * 100 + 100 * 400) / 1_000_000).toFixed(6)
  t.equal(status, 200)
  t.match(json, {
    operation: 'chat',
    model: 'gpt-5',
    hold: likely,
    likely,
    worst: (((density.tokens.most + 64) * 100 + 100 * 400) / 1_000_000).toFixed(6),
    available: '10.000000',
    risk: '40.000000',
    debt: '0.000000',
    admitted: true,
    price: { rubPerMillion: { input: '100', output: '400' } },
  })
  t.equal(upstream.requests.length, 0)
  await noHoldIsLeft(t, gateway)
})

t.test('a quote is refused like its request, and so are invalid requests below /gateway/v1', async t => {
  const { gateway, ask } = await start(t)

  const unknown = await ask(gateway.key, 'POST', '/gateway/v1/quote', { ...chat, model: 'nobody' })
  const nowhere = await ask(gateway.key, 'POST', '/gateway/v1/quote?for=/v1/files', chat)
  const wrongMethod = await ask(gateway.key, 'GET', '/gateway/v1/quote')
  const wrongPath = await ask(gateway.key, 'GET', '/gateway/v1/nothing')
  const wrongLimit = await ask(gateway.key, 'GET', '/gateway/v1/charges?limit=0')
  const noId = await ask(gateway.key, 'GET', '/gateway/v1/charges?after=%00')
  const noKey = await send(`${gateway.url}/gateway/v1/balance`, { method: 'GET' })

  t.equal(unknown.status, 404)
  t.equal(nowhere.status, 400)
  t.equal(wrongMethod.status, 405)
  t.equal(wrongMethod.headers['allow'], 'POST')
  t.equal(wrongPath.status, 404)
  t.equal(wrongLimit.status, 400)
  t.equal(noId.status, 400, 'an invalid id is not taken for the end of the list')
  t.equal(noKey.status, 401)
})
