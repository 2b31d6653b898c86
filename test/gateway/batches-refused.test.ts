import t, { type Test } from 'tap'
import { TextDensity } from '../../lib/http/text-density.ts'
import { toFile } from 'openai'
import { batchLine } from '../fixtures/batch-clients.ts'
import { batchConfig, batchModels } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, type BatchProvider } from '../fixtures/batch-provider.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { anthropicClient, googleClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

interface Started {
  readonly gateway: TestGateway
  readonly provider: BatchProvider
}

const never = 3_600_000

async function start(
  t: Test,
  options: { readonly rub?: number; readonly keyModels?: string[] } = {},
): Promise<Started> {
  const provider = await startBatchProvider(t)
  const config = batchConfig(provider.origin, never)
  const models = {
    ...batchModels,
    'no-price': { provider: 'openai' },
    renamed: { provider: 'openai', upstreamModel: 'other', rubPerMillion: { input: '1', output: '1' } },
    elsewhere: { provider: 'anthropic', rubPerMillion: { input: '1', output: '1' } },
    'gpt-on-both': { provider: ['other-openai', 'openai'], rubPerMillion: { input: '1', output: '1' } },
    'gpt-on-other': { provider: 'other-openai', rubPerMillion: { input: '1', output: '1' } },
  }
  const providers = {
    ...(config['providers'] as Record<string, unknown>),
    'other-openai': { credentials: ['x'], dialects: { openai: { baseUrl: `${provider.origin}/v1` } } },
  }
  return {
    provider,
    gateway: await startTestGateway(t, { config: { ...config, models, providers }, ...options }),
  }
}

async function upload(gateway: { url: string; key: string }, lines: string): Promise<string> {
  const file = await toFile(Buffer.from(lines), 'in.jsonl')
  return (await openaiClient(gateway).files.create({ file, purpose: 'batch' })).id
}

function post(
  gateway: TestGateway,
  path: string,
  body: unknown,
  header = 'authorization',
): Promise<ClientAnswer> {
  const key = header === 'authorization' ? `Bearer ${gateway.key}` : gateway.key
  return send(gateway.url + path, {
    headers: [header, key, 'content-type', 'application/json'],
    body: JSON.stringify(body),
  })
}

function create(gateway: TestGateway, id: string, more: Record<string, unknown> = {}): Promise<ClientAnswer> {
  const body = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h', ...more }
  return post(gateway, '/v1/batches', body)
}

/** Checks a refusal with this status and message: nothing is held or charged, and no batch reaches the provider. */
async function checkRefusal(
  t: Test,
  { gateway, provider }: Started,
  answer: ClientAnswer,
  status: number,
  message: RegExp,
): Promise<void> {
  t.equal(answer.status, status, answer.body.toString())
  t.match((JSON.parse(answer.body.toString()) as { error: { message: string } }).error.message, message)
  t.match(await gateway.balance(), { heldMicros: 0 })
  t.same(await gateway.charges(), [])
  t.notOk(
    provider.seen.some(({ path }) => /\/batches|:batch|:asyncBatch/.test(path)),
    'nothing was forwarded',
  )
}

const good = batchLine('a', 'gpt-5-nano')
const drawing = (...tools: readonly object[]): string =>
  `${JSON.stringify({
    custom_id: 'a',
    method: 'POST',
    url: '/v1/responses',
    body: {
      model: 'gpt-5-nano',
      input: 'Draw.',
      tools: tools.map(tool => ({ type: 'image_generation', ...tool })),
    },
  })}\n`
const wrongFiles: readonly (readonly [string, string, number, RegExp, endpoint?: string])[] = [
  ['a line that is no JSON', `${good}{"custom_id": nope}\n${good}`, 400, /^line 2: .*not valid JSON/],
  [
    'a model without a price',
    good + good + batchLine('c', 'no-price'),
    404,
    /^line 3: .*"no-price" has no price/,
  ],
  ['an unknown model', good + batchLine('b', 'invented'), 404, /^line 2: .*"invented" does not exist/],
  ['an alias', good + batchLine('b', 'fast'), 400, /^line 2: .*"fast" is called "gpt-5-nano"/],
  ['a model with another name at its provider', batchLine('a', 'renamed'), 400, /^line 1: .*called "other"/],
  ['a model of another dialect', good + batchLine('b', 'elsewhere'), 400, /^line 2: /],
  [
    'a model of another provider',
    good + batchLine('b', 'gpt-on-other'),
    400,
    /^line 2: .*not served by the provider/,
  ],
  ['no lines', '\n\n', 400, /no requests/],
  [
    'another endpoint in a line',
    good + good.replace('/v1/chat/completions', '/v1/responses'),
    400,
    /^line 2: .*responses/,
  ],
  [
    'a file of another account',
    good +
      batchLine('b', 'gpt-5-nano', {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-foreign' } }] }],
      }),
    404,
    /^line 2: .*file-foreign/,
  ],
  [
    'two tools that draw with different models',
    drawing({}) + drawing({}, { model: 'gpt-image-1-mini' }),
    400,
    /^line 2: Two tools draw with gpt-image-1 and with gpt-image-1-mini, and no response tells/,
    '/v1/responses',
  ],
]

await t.test('openai: a batch of an invalid file is refused, and the error names the line', async t => {
  const started = await start(t)
  for (const [what, lines, status, message, endpoint = '/v1/chat/completions'] of wrongFiles) {
    await t.test(what, async t => {
      const answer = await create(started.gateway, await upload(started.gateway, lines), { endpoint })
      await checkRefusal(t, started, answer, status, message)
    })
  }
  await t.test('the 50,001st line', async t => {
    const lines = `${JSON.stringify({ method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-5-nano' } })}\n`
    const answer = await create(started.gateway, await upload(started.gateway, lines.repeat(50_001)))
    await checkRefusal(t, started, answer, 400, /^line 50001: .*at most 50000/)
  })
})

await t.test('openai: an invalid request for a batch is refused', async t => {
  const started = await start(t)
  const { gateway } = started
  const id = await upload(gateway, good)
  await t.test('no file', async t => {
    await checkRefusal(
      t,
      started,
      await post(gateway, '/v1/batches', { endpoint: '/v1/responses' }),
      400,
      /input_file_id/,
    )
  })
  await t.test('an endpoint without batches here', async t => {
    await checkRefusal(
      t,
      started,
      await create(gateway, id, { endpoint: '/v1/audio/speech' }),
      501,
      /not for \/v1\/audio\/speech/,
    )
  })
  await t.test('a file that was never uploaded', async t => {
    await checkRefusal(t, started, await create(gateway, 'file-invented'), 404, /file-invented/)
  })
  await t.test('a file for another purpose', async t => {
    const file = await toFile(Buffer.from(good), 'in.jsonl')
    const other = await openaiClient(gateway).files.create({ file, purpose: 'user_data' })
    await checkRefusal(t, started, await create(gateway, other.id), 400, /not known here/)
  })
  await t.test("another account's file", async t => {
    const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
    const { key } = await gateway.accounts.createKey({ accountId })
    const foreign = await upload({ url: gateway.url, key }, good)
    await checkRefusal(t, started, await create(gateway, foreign), 404, new RegExp(foreign))
  })
  await t.test('a form with two files, since the provider may read the other one', async t => {
    const part = (name: string, text: string): string =>
      `--x\r\ncontent-disposition: form-data; name="${name}"; filename="a.jsonl"\r\n\r\n${text}\r\n`
    const purpose = '--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x--\r\n'
    const answer = await send(`${gateway.url}/v1/files`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=x'],
      body: part('file', good) + part('file', batchLine('b', 'gpt-5')) + purpose,
    })
    const { id: file } = JSON.parse(answer.body.toString()) as { id: string }
    await checkRefusal(t, started, await create(gateway, file), 400, /not known here/)
  })
})

await t.test(
  'a batch that the balance does not cover is refused, and the error says the likely cost',
  async t => {
    const started = await start(t, { rub: 0 })
    await started.gateway.accounts.credit({
      accountId: started.gateway.accountId,
      amountMicros: 100,
      reason: 'test',
    })
    const answer = await create(started.gateway, await upload(started.gateway, good.repeat(3)))
    await checkRefusal(t, started, answer, 402, /likely costs/)
  },
)

await t.test('the hold is the sum of what the requests may cost, at the price of batches', async t => {
  const { gateway } = await start(t)
  await create(gateway, await upload(gateway, good.repeat(3)))
  const { body } = JSON.parse(good) as { body: unknown }
  const density = new TextDensity()
  density.add(Buffer.from(JSON.stringify(body)))
  const { heldMicros, worstMicros } = await gateway.balance()
  const output = 3 * 50 * 400
  // Each line has an id and an endpoint beside the body, so its length is an upper bound.
  t.ok(heldMicros >= (3 * density.tokens.likely * 100 + output) / 2)
  t.ok(heldMicros <= (3 * good.length * 100 + output) / 2)
  t.ok(worstMicros >= (3 * density.tokens.most * 100 + output) / 2)
})

await t.test('a batch of a model of several providers goes to the provider that has the file', async t => {
  const { gateway, provider } = await start(t)
  const lines = good + batchLine('b', 'gpt-on-both')
  t.equal((await create(gateway, await upload(gateway, lines))).status, 200)
  t.equal(provider.seen.at(-1)?.credential, 'Bearer provider-credential')
})

await t.test('a key may make batches of its own models only', async t => {
  const started = await start(t, { keyModels: ['gpt-5-nano'] })
  const lines = good + batchLine('b', 'gpt-5')
  const answer = await create(started.gateway, await upload(started.gateway, lines))
  await checkRefusal(t, started, answer, 403, /^line 2: .*may not use the model "gpt-5"/)
})

const message = [{ role: 'user', content: 'Hi' }]
const params = { model: 'claude-haiku-4-5', max_tokens: 9, messages: message }
const foreignFile = [
  { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_foreign' } }] },
]
const wrongRequests: readonly (readonly [string, unknown, number, RegExp])[] = [
  ['a model without a price', { ...params, model: 'invented' }, 404, /^requests\[1\]: .*"invented"/],
  ['no model', { ...params, model: undefined }, 400, /^requests\[1\]: .*no model/],
  ['an alias', { ...params, model: 'fast' }, 400, /^requests\[1\]: .*"fast"/],
  ['a file of another account', { ...params, messages: foreignFile }, 404, /^requests\[1\]: .*file_foreign/],
  ['a tier without a price', { ...params, speed: 'fast' }, 501, /^requests\[1\]: .*"fast" has no price/],
  [
    'a max_tokens that is no number',
    { ...params, max_tokens: 'many' },
    400,
    /requests\[1\]\.params\.max_tokens/,
  ],
]

await t.test(
  'anthropic: a batch with an invalid request is refused, and the error names its place',
  async t => {
    const started = await start(t)
    for (const [what, second, status, expected] of wrongRequests) {
      await t.test(what, async t => {
        const requests = [
          { custom_id: 'a', params },
          { custom_id: 'b', params: second },
        ]
        const answer = await post(started.gateway, '/v1/messages/batches', { requests }, 'x-api-key')
        await checkRefusal(t, started, answer, status, expected)
      })
    }
    await t.test('no requests', async t => {
      await checkRefusal(
        t,
        started,
        await post(started.gateway, '/v1/messages/batches', { requests: [] }, 'x-api-key'),
        400,
        /no requests/,
      )
    })
    await t.test('an image that is none, with its place', async t => {
      const source = {
        type: 'base64',
        media_type: 'image/png',
        data: Buffer.from('<html>').toString('base64'),
      }
      const pictured = [{ role: 'user', content: [{ type: 'image', source }] }]
      const requests = [{ params }, { params: { ...params, messages: pictured } }]
      const answer = await post(started.gateway, '/v1/messages/batches', { requests }, 'x-api-key')
      await checkRefusal(
        t,
        started,
        answer,
        400,
        /requests\[1\]\.params\.messages\[0\]\.content\[0\]\.source/,
      )
    })
    await t.test('the 100,001st request', async t => {
      const requests = Array.from({ length: 100_001 }, () => ({ params: { model: 'claude-haiku-4-5' } }))
      const answer = await post(started.gateway, '/v1/messages/batches', { requests }, 'x-api-key')
      await checkRefusal(t, started, answer, 400, /^requests\[100000\]: .*at most 100000/)
    })
    await t.test('a body with the content type of a form', async t => {
      const answer = await send(`${started.gateway.url}/v1/messages/batches`, {
        headers: ['x-api-key', started.gateway.key, 'content-type', 'multipart/form-data; boundary=x'],
        body: JSON.stringify({ requests: [{ custom_id: 'a', params }] }),
      })
      await checkRefusal(t, started, answer, 400, /must be sent as JSON/)
    })
    await t.test('an unknown id, on every route that has one', async t => {
      const { messages } = anthropicClient(started.gateway)
      const id = 'msgbatch_invented'
      for (const refused of [
        () => messages.batches.retrieve(id),
        () => messages.batches.cancel(id),
        () => messages.batches.delete(id),
      ]) {
        t.match(await refused().catch((error: unknown) => error), { status: 404 })
      }
      const results = await send(`${started.gateway.url}/v1/messages/batches/${id}/results`, {
        method: 'GET',
        headers: ['x-api-key', started.gateway.key],
      })
      await checkRefusal(t, started, results, 404, /msgbatch_invented/)
    })
  },
)

const contents = [{ parts: [{ text: 'Hi' }] }]
const inline = (request: unknown): unknown => ({
  batch: { inputConfig: { requests: { requests: [{ request }] } } },
})
const wrongBatches: readonly (readonly [string, unknown, number, RegExp])[] = [
  [
    'another model inside',
    inline({ model: 'models/gemini-2.5-pro', contents }),
    400,
    /requests\[0\]: .*gemini-2\.5-pro/,
  ],
  ['neither requests nor a file', { batch: { inputConfig: {} } }, 400, /inputConfig/],
  [
    'a file that was never uploaded',
    { batch: { input_config: { file_name: 'files/invented' } } },
    404,
    /files\/invented/,
  ],
  [
    'a file of another account',
    inline({
      contents: [
        {
          parts: [
            { file_data: { file_uri: 'https://generativelanguage.googleapis.com/v1beta/files/foreign' } },
          ],
        },
      ],
    }),
    404,
    /requests\[0\]: .*files\/foreign/,
  ],
]

await t.test('google: a batch with an invalid request is refused, and the error names its place', async t => {
  const started = await start(t)
  for (const [what, body, status, expected] of wrongBatches) {
    await t.test(what, async t => {
      const path = '/v1beta/models/gemini-2.5-flash:batchGenerateContent'
      const answer = await post(started.gateway, path, body, 'x-goog-api-key')
      await checkRefusal(t, started, answer, status, expected)
    })
  }
  await t.test('an unknown name, on every route that has one', async t => {
    const { batches } = googleClient(started.gateway)
    const name = 'batches/invented'
    for (const refused of [batches.get({ name }), batches.cancel({ name }), batches.delete({ name })]) {
      t.match(await refused.catch((error: unknown) => error), { status: 404 })
    }
    t.same(started.provider.seen, [])
  })
})
