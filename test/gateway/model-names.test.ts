import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections } from '../fixtures/test-gateway.ts'

const rubPerMillion = (rub: number): object => ({ input: String(rub), output: String(rub) })

/** A gateway whose providers respond with the model in `answered`, or else with the requested one. */
async function start(t: Test, models: ConfigSections, keyModels?: readonly string[]) {
  const answered: { model?: string } = {}
  const upstream = await startRawUpstream(t, ({ body }) => {
    const requestedModel = (JSON.parse(body.toString()) as { model: string }).model
    const usage = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 }
    const document = {
      object: 'chat.completion',
      model: answered.model ?? requestedModel,
      choices: [{ index: 0, message: { content: '' } }],
      usage,
    }
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(document))
  })
  const provider = { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } }
  const gateway = await startTestGateway(t, {
    ...(keyModels !== undefined && { keyModels }),
    config: { providers: { somebody: provider, groq: provider, xai: provider, sandbox: {} }, models },
  })
  const ask = (path: string, model?: string): Promise<ClientAnswer> =>
    send(gateway.url + path, {
      method: model === undefined ? 'GET' : 'POST',
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      ...(model !== undefined && {
        body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }),
      }),
    })
  const charged = async (path: string, model: string) => {
    const { requestId } = await ask(path, model)
    const charge = await gateway.chargeOf(requestId)
    const requestedModel = JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as { model?: string }
    return {
      requestedModel: requestedModel.model,
      model: charge?.model,
      amount: charge?.amount,
      flags: charge?.flags,
    }
  }
  const list = async (path: string): Promise<readonly string[]> => {
    const { data } = JSON.parse((await ask(path)).body.toString()) as { data: { id: string }[] }
    return data.map(({ id }) => id).toSorted()
  }
  return { answered, gateway, ask, charged, list }
}

const chat = '/v1/chat/completions'

await t.test('a response of another model is flagged, and one of a snapshot is not', async t => {
  const { answered, charged } = await start(t, {
    '*': { provider: 'somebody', rubPerMillion: rubPerMillion(1) },
  })
  const same = [
    ['big', 'big'],
    ['big', 'big-2025-08-07'],
    ['big', 'big-latest'],
    ['big', 'big@20250929'],
    ['big', 'vendor/big'],
    ['big', 'models/BIG-001'],
    ['big-latest', 'big'],
    ['vendor/big', 'big-20250929'],
  ] as const
  for (const [requestedModel, model] of same) {
    answered.model = model
    t.same((await charged(chat, requestedModel)).flags, [], `${requestedModel} answered by ${model}`)
  }
  const others = [
    ['big', 'big-mini'],
    ['big-mini', 'big'],
    ['big', 'bigger'],
    ['big', 'small-2025-08-07'],
    ['big', 'big-2025-08-07-mini'],
  ] as const
  for (const [requestedModel, model] of others) {
    answered.model = model
    t.same(
      (await charged(chat, requestedModel)).flags,
      ['model_mismatch'],
      `${requestedModel} answered by ${model}`,
    )
  }
})

await t.test('an xAI response of another model is charged at the price of that model', async t => {
  const { answered, charged } = await start(t, {
    'grok-3-mini': { provider: 'xai', rubPerMillion: rubPerMillion(1000) },
    'grok-4.3': { provider: 'xai', rubPerMillion: rubPerMillion(5000) },
  })
  answered.model = 'grok-4.3'
  t.match(await charged(chat, 'grok-3-mini'), { amount: '5.000000', flags: [] })
  answered.model = 'grok-5'
  t.match(
    await charged(chat, 'grok-3-mini'),
    { amount: '1.000000', flags: ['model_mismatch'] },
    'a model without a price',
  )
})

await t.test('the most specific pattern sets the price, wherever it is in the list', async t => {
  const { charged } = await start(t, {
    '*': { provider: 'somebody', rubPerMillion: rubPerMillion(1000) },
    'gpt-*': { provider: 'somebody', rubPerMillion: rubPerMillion(2000) },
    'gpt-5*-mini': { provider: 'somebody', rubPerMillion: rubPerMillion(3000) },
    'gpt-5*': { provider: 'somebody', rubPerMillion: rubPerMillion(4000) },
    'gpt-5-mini': { provider: 'somebody', rubPerMillion: rubPerMillion(5000) },
  })
  const amounts: string[] = []
  for (const model of ['other', 'gpt-4', 'gpt-5.1-mini', 'gpt-5.1', 'gpt-5-mini']) {
    amounts.push(String((await charged(chat, model)).amount))
  }
  t.same(amounts, ['1.000000', '2.000000', '3.000000', '4.000000', '5.000000'])
})

await t.test("below a provider's path its own names, patterns and aliases take precedence", async t => {
  const { ask, charged } = await start(t, {
    'llama-*': { provider: 'somebody', rubPerMillion: rubPerMillion(1000) },
    'groq/llama-*': { provider: 'groq', rubPerMillion: rubPerMillion(2000) },
    'groq/quick': { alias: 'groq/llama-8b' },
    shared: { provider: ['somebody', 'groq'], rubPerMillion: rubPerMillion(3000) },
    foreign: { provider: 'somebody', rubPerMillion: rubPerMillion(4000) },
  })
  const path = '/groq/v1/chat/completions'

  t.match(await charged(path, 'llama-70b'), {
    requestedModel: 'llama-70b',
    model: 'groq/llama-70b',
    amount: '2.000000',
  })
  t.match(await charged(chat, 'groq/llama-70b'), { requestedModel: 'llama-70b', amount: '2.000000' })
  t.match(await charged(chat, 'llama-70b'), { requestedModel: 'llama-70b', amount: '1.000000' })
  t.match(await charged(path, 'quick'), { requestedModel: 'llama-8b', model: 'groq/llama-8b' })
  t.match(await charged(chat, 'groq/quick'), { requestedModel: 'llama-8b', model: 'groq/llama-8b' })
  t.match(await charged(path, 'shared'), { requestedModel: 'shared', amount: '3.000000' })
  t.equal((await ask(path, 'foreign')).status, 404, 'a model of another provider')
})

const listed = {
  plain: { provider: 'somebody', rubPerMillion: rubPerMillion(1) },
  'groq/llama': { provider: 'groq', rubPerMillion: rubPerMillion(1) },
  quick: { alias: 'groq/llama' },
  'groq/swift': { alias: 'groq/llama' },
  priceless: { provider: 'somebody' },
  'pattern-*': { provider: 'somebody', rubPerMillion: rubPerMillion(1) },
}

await t.test('the list of models has exactly the names that are served', async t => {
  const { ask, list } = await start(t, listed)

  const names = await list('/v1/models')
  t.same(names, ['groq/llama', 'groq/swift', 'plain', 'quick'])
  for (const name of names) t.equal((await ask(chat, name)).status, 200, name)
  const own = await list('/groq/v1/models')
  t.same(own, ['llama', 'quick', 'swift'])
  for (const name of own) t.equal((await ask('/groq/v1/chat/completions', name)).status, 200, name)
  t.equal((await ask(chat, 'priceless')).status, 404)
})

await t.test('a key lists the names that it may use, directly or through an alias', async t => {
  const { ask, list } = await start(t, listed, ['groq/*'])

  const names = await list('/v1/models')
  t.same(names, ['groq/llama', 'groq/swift', 'quick'])
  for (const name of names) t.equal((await ask(chat, name)).status, 200, name)
  t.equal((await ask(chat, 'plain')).status, 403)
})

await t.test('a name of more than 512 characters is refused although a pattern matches it', async t => {
  const { ask, charged } = await start(t, { '*': { provider: 'somebody', rubPerMillion: rubPerMillion(1) } })
  const longest = 'n'.repeat(512)
  t.match(await charged(chat, longest), { requestedModel: longest, model: longest, amount: '0.001000' })
  const refused = await ask(chat, `${longest}n`)
  t.equal(refused.status, 404)
  t.match(refused.body.toString(), /at most 512 characters; this one has 513/)
})

await t.test('a model of one provider needs no prefix, and one of two providers does', async t => {
  const { ask, charged } = await start(t, {
    'groq/llama-3.3-70b': { provider: 'groq', rubPerMillion: rubPerMillion(1) },
    'groq/gpt-oss': { provider: 'groq', rubPerMillion: rubPerMillion(1) },
    'somebody/gpt-oss': { provider: 'somebody', rubPerMillion: rubPerMillion(2) },
  })

  t.match(await charged(chat, 'llama-3.3-70b'), {
    requestedModel: 'llama-3.3-70b',
    model: 'groq/llama-3.3-70b',
    amount: '0.001000',
  })
  const both = await ask(chat, 'gpt-oss')
  t.equal(both.status, 404)
  t.match(both.body.toString(), 'ask for \\"groq/gpt-oss\\" or \\"somebody/gpt-oss\\"')
})

await t.test(
  'the list has the known names of a pattern, and sandbox models only below the sandbox path',
  async t => {
    const price = { rubPerMillion: rubPerMillion(1) }
    const { list, ask } = await start(t, {
      'gpt-9-20*': { provider: 'somebody', names: ['gpt-9-2026-01-31'], ...price },
      'sandbox-chat': { provider: 'sandbox', ...price },
    })

    t.same(await list('/v1/models'), ['gpt-9-2026-01-31'])
    t.same(await list('/sandbox/v1/models'), ['sandbox-chat'])
    t.equal((await ask('/v1/models/gpt-9-2027-01-01')).status, 200, 'a name that the pattern covers exists')
    t.equal((await ask('/v1/models/sandbox-chat')).status, 200)
  },
)

await t.test('the error for an unknown model suggests one that the key may use', async t => {
  const price = { provider: 'somebody', rubPerMillion: rubPerMillion(1) }
  const { ask } = await start(t, { 'big-model': price, 'big-modal': price }, ['big-modal'])

  const near = await ask(chat, 'big-modul')
  t.match(near.body.toString(), 'Did you mean \\"big-modal\\"?')
  t.notMatch((await ask(chat, 'small')).body.toString(), 'Did you mean')
})

await t.test("below a provider's path the error for a missing model says where it is served", async t => {
  const price = rubPerMillion(1)
  const { ask } = await start(t, {
    'big-model': { provider: 'somebody', rubPerMillion: price },
    'big-modal': { provider: 'xai', rubPerMillion: price },
    'groq/big-modem': { provider: 'groq', rubPerMillion: price },
  })
  const said = async (path: string, model: string): Promise<string> => {
    const { status, body } = await ask(path, model)
    t.equal(status, 404, model)
    return (JSON.parse(body.toString()) as { error: { message: string } }).error.message
  }

  t.equal(
    await said('/groq/v1/chat/completions', 'big-model'),
    'The model "big-model" is not a model of the provider in the path. Leave /groq out of the path.',
  )
  t.equal(
    await said('/xai/v1/chat/completions', 'big-modul'),
    'The model "big-modul" does not exist here; GET /xai/v1/models lists those that do. Did you mean "big-modal"?',
    'no model of another provider is suggested',
  )
  t.equal(
    await said('/groq/v1/chat/completions', 'small'),
    'The model "small" does not exist here; GET /groq/v1/models lists those that do.',
  )
})

await t.test("a fine-tuned model is returned but not deleted, with OpenAI's error", async t => {
  const name = 'ft:gpt-9:acme::b7R9'
  const { gateway } = await start(t, {
    'ft:gpt-9:*': { provider: 'somebody', rubPerMillion: rubPerMillion(1) },
  })
  const request = (method: string, path: string) =>
    send(gateway.url + path, { method, headers: ['authorization', `Bearer ${gateway.key}`] })

  for (const path of [`/v1/models/${name}`, `/v1/models/${encodeURIComponent(name)}`]) {
    const shown = await request('GET', path)
    t.equal(shown.status, 200, shown.body.toString())
    t.match(JSON.parse(shown.body.toString()), { id: name, object: 'model' })

    const deleted = await request('DELETE', path)
    t.equal(deleted.status, 405)
    t.match(JSON.parse(deleted.body.toString()), {
      error: { code: 'method_not_allowed', message: /; use GET/ },
    })
  }
  const unknown = await request('GET', '/v1/models/ft:gpt-8:acme::b7R9')
  t.equal(unknown.status, 404)
  t.match(JSON.parse(unknown.body.toString()), { error: { code: 'model_not_found' } })
})
