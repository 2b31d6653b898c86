import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** Roubles a million tokens; a search costs one. */
const tokens = { input: '100', cachedInput: '10', cacheWrite5m: '125', output: '1000', imageOutput: '2000' }

interface Fee {
  /** The kind of provider. */
  readonly like: string
  readonly path: string
  readonly body: object
  /** The provider's response. */
  readonly answer: object
  /** The provider's bill for it, in roubles. */
  readonly amount: string
  readonly rubPerUnit?: Readonly<Record<string, string>>
  readonly flags?: readonly string[]
}

/** The name of one of Groq's compound models, which search without a tool in the request. */
const model = 'compound-m'

async function charged(t: Test, { like, path, body, answer, rubPerUnit = { searches: '1' } }: Fee) {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
  )
  const gateway = await startTestGateway(t, {
    rub: 1000,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: { somebody: { ...(somebodyAt(upstream.origin)['somebody'] as object), like } },
      models: {
        [model]: {
          provider: 'somebody',
          contextTokensMax: 10_000,
          outputTokensMax: 1000,
          rubPerMillion: tokens,
          rubPerUnit,
        },
      },
    },
  })
  const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
  const post = (to: string) => send(gateway.url + to, { headers, body: JSON.stringify(body) })
  const quote = JSON.parse((await post(`/gateway/v1/quote?for=${path}`)).body.toString()) as { worst: string }
  const { status, requestId, body: bytes } = await post(path)
  t.equal(status, 200, bytes.toString().slice(0, 300))
  t.equal(bytes.toString(), JSON.stringify(answer), 'byte for byte')
  t.same(await gateway.breaches(), [])
  return { worst: Number(quote.worst), charge: await gateway.chargeOf(requestId) }
}

const messages = [{ role: 'user', content: 'Hi' }]
const chat = { path: '/v1/chat/completions', body: { model, messages } }
const completion = (usage: object): object => ({
  object: 'chat.completion',
  model,
  choices: [{ index: 0, message: { role: 'assistant', content: 'Words.' }, finish_reason: 'stop' }],
  usage,
})
const responses = { path: '/v1/responses', body: { model, input: 'Hi' } }
const searching = { ...responses, body: { ...responses.body, tools: [{ type: 'web_search' }] } }
const response = (usage: object): object => ({
  id: 'resp_1',
  object: 'response',
  model,
  status: 'completed',
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'Words.' }] }],
  usage,
})
const marked = {
  path: '/v1/chat/completions',
  body: {
    model,
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
    ],
  },
}

const fees: Readonly<Record<string, Fee>> = {
  'a cache write requested of Qwen': {
    like: 'qwen',
    ...marked,
    answer: completion({
      prompt_tokens: 3000,
      completion_tokens: 100,
      total_tokens: 3100,
      prompt_tokens_details: {
        cached_tokens: 1000,
        cache_creation_input_tokens: 2000,
        cache_creation: { ephemeral_5m_input_tokens: 2000 },
        cache_type: 'ephemeral',
      },
    }),
    // 1,000 tokens from the cache, 2,000 written to it, and 100 of output.
    amount: '0.360000',
  },
  'searches that Groq lists with its message': {
    like: 'groq',
    ...chat,
    answer: {
      ...completion({ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }),
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Words.',
            executed_tools: [
              { index: 0, type: 'search', arguments: '{"query":"a"}', output: 'x' },
              { type: 'python', index: 1, arguments: '{}', output: '1' },
              { arguments: '{"query":"b"}', type: 'browser_search', index: 2 },
            ],
          },
        },
      ],
    },
    amount: '2.200000',
  },
  'a search that was requested of Groq and not made': {
    like: 'groq',
    ...chat,
    body: { ...chat.body, tools: [{ type: 'browser_search' }] },
    answer: completion({ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }),
    amount: '0.200000',
  },
  'a video that a Google model bills in tokens': {
    like: 'google',
    path: '/v1beta/interactions',
    body: { model, input: 'A sea' },
    answer: {
      id: 'i',
      status: 'completed',
      usage: {
        total_input_tokens: 1000,
        total_output_tokens: 900,
        total_thought_tokens: 100,
        total_tokens: 2000,
        output_tokens_by_modality: [
          { modality: 'text', tokens: 100 },
          { modality: 'video', tokens: 800 },
        ],
      },
    },
    amount: '1.900000',
  },
  ...Object.fromEntries(
    (
      [
        ['gemini-2.5-flash', '2.200000'],
        ['models/gemini-2.5-pro', '2.200000'],
        ['gemini-3.5-flash', '4.200000'],
      ] as const
    ).map(([answering, amount]) => [
      `the searches of ${answering} in an interaction`,
      {
        like: 'google',
        path: '/v1beta/interactions',
        body: { model, input: 'Hi', tools: [{ type: 'google_search' }, { type: 'google_maps' }] },
        answer: {
          id: 'i',
          model: answering,
          status: 'completed',
          usage: {
            total_input_tokens: 1000,
            total_output_tokens: 100,
            total_tokens: 1100,
            grounding_tool_count: [
              { type: 'google_search', count: 3 },
              { type: 'google_maps', count: 1 },
            ],
          },
        },
        amount,
        flags: ['model_mismatch'],
      },
    ]),
  ),
  'the stated cost of an xAI completion': {
    like: 'xai',
    ...chat,
    rubPerUnit: { searches: '1', statedUsd: '100' },
    answer: completion({
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      cost_in_usd_ticks: 50_000_000,
    }),
    amount: '0.500000',
    flags: ['cost_stated'],
  },
  'the stated cost of an xAI response': {
    like: 'xai',
    ...responses,
    rubPerUnit: { searches: '1', statedUsd: '100' },
    answer: response({
      input_tokens: 1000,
      output_tokens: 100,
      total_tokens: 1100,
      cost_in_usd_ticks: 50_000_000,
    }),
    amount: '0.500000',
    flags: ['cost_stated'],
  },
  'the stated cost of xAI images': {
    like: 'xai',
    path: '/v1/images/generations',
    body: { model, prompt: 'x', n: 2, resolution: '2k' },
    rubPerUnit: { images: '4', statedUsd: '100' },
    answer: { data: [{ url: 'a' }, { url: 'b' }], usage: { cost_in_usd_ticks: 900_000_000 } },
    amount: '9.000000',
    flags: ['cost_stated'],
  },
  "searches of Perplexity's agents": {
    like: 'perplexity',
    ...searching,
    answer: response({
      input_tokens: 1000,
      output_tokens: 100,
      total_tokens: 1100,
      tool_calls_details: { web_search: { invocation: 2 }, fetch_url: { invocation: 5 } },
    }),
    amount: '2.200000',
  },
  "the stated cost of the tools of Perplexity's agents": {
    like: 'perplexity',
    ...searching,
    rubPerUnit: { searches: '0.25', statedUsd: '100' },
    answer: response({
      input_tokens: 1000,
      output_tokens: 100,
      total_tokens: 1100,
      tool_calls_details: { web_search: { invocation: 2 }, fetch_url: { invocation: 5 } },
      cost: {
        currency: 'USD',
        input_cost: 0.001,
        output_cost: 0.001,
        tool_calls_cost: 0.0125,
        total_cost: 0.0145,
      },
    }),
    amount: '1.450000',
    flags: ['cost_stated'],
  },
}

for (const [name, fee] of Object.entries(fees)) {
  await t.test(`the charge equals the provider's bill, and the hold covers it: ${name}`, async t => {
    const { worst, charge } = await charged(t, fee)
    t.match(charge, { outcome: 'completed', usageSource: 'provider', amount: fee.amount })
    t.same(charge?.flags, fee.flags ?? [])
    t.ok(worst >= Number(fee.amount), `${worst} at worst, for ${fee.amount}`)
  })
}
