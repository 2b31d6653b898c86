import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const json = ['content-type', 'application/json']

async function start(t: Test) {
  const upstream = await startRawUpstream(t, ({ path }) =>
    plainAnswer(
      200,
      json,
      JSON.stringify(
        path.includes('generateContent')
          ? {
              candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 1 }],
              usageMetadata: {
                promptTokenCount: 100,
                promptTokensDetails: [
                  { modality: 1, tokenCount: 40 },
                  { modality: 4, tokenCount: 60 },
                ],
                candidatesTokenCount: 10,
                totalTokenCount: 110,
              },
            }
          : {
              object: 'chat.completion',
              model: 'gemini-9',
              choices: [{ index: 0, message: { content: '' } }],
              usage: { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 },
            },
      ),
    ),
  )
  const dialects = {
    google: { baseUrl: `${upstream.origin}/v1beta` },
    openai: { baseUrl: `${upstream.origin}/v1beta/openai` },
  }
  const gateway = await startTestGateway(t, {
    config: {
      providers: { google: { credentials: ['c'], dialects } },
      models: {
        'gemini-9': {
          provider: 'google',
          outputTokensMax: 100,
          rubPerMillion: { input: '1000', audioInput: '2000', output: '1000' },
        },
      },
    },
  })
  const ask = async (path: string, body?: object) => {
    const answer = await send(gateway.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: ['authorization', `Bearer ${gateway.key}`, ...json],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { ...answer, text: answer.body.toString(), charge: () => gateway.chargeOf(answer.requestId) }
  }
  return { ask, gateway, upstream }
}

const chat = { model: 'gemini-9', messages: [{ role: 'user', content: 'Hi' }] }

await t.test("Google's base URL for OpenAI's format is served without a provider prefix", async t => {
  const { ask, upstream } = await start(t)

  const answer = await ask('/v1beta/openai/chat/completions', chat)

  t.equal(answer.status, 200, answer.text)
  t.equal(upstream.requests[0]?.path, '/v1beta/openai/chat/completions')
  t.equal((await answer.charge())?.amount, '1.000000')
  t.match(JSON.parse((await ask('/v1beta/openai/models')).text), { data: [{ id: 'gemini-9' }] })
})

await t.test(
  'enums as numbers are forwarded, and audio is charged as audio; formats that hide usage are refused',
  async t => {
    const { ask } = await start(t)
    const path = '/v1beta/models/gemini-9:generateContent'
    const body = { contents: [{ parts: [{ text: 'Hi' }] }] }

    const answer = await ask(`${path}?$alt=json;enum-encoding=int`, body)

    t.equal(answer.status, 200, answer.text)
    t.same((await answer.charge())?.usage, { input: 40, audioInput: 60, output: 10 })
    for (const hidden of ['$alt=proto', '$alt=json;enum-encoding=int&$alt=media', '%24alt=proto']) {
      t.equal((await ask(`${path}?${hidden}`, body)).status, 400, hidden)
    }
  },
)

await t.test('the error for a base URL without a version, or with two, says how to correct it', async t => {
  const { ask } = await start(t)

  for (const [path, words] of [
    ['/chat/completions', 'The base URL lacks /v1: end it in /v1.'],
    ['/responses', 'The base URL lacks /v1: end it in /v1.'],
    ['/ocr', 'The base URL lacks /v1: end it in /v1.'],
    ['/vector_stores/vs_1/search?x=1', 'The base URL lacks /v1: end it in /v1.'],
    ['/models/gemini-9:generateContent', 'The base URL lacks /v1beta: end it in /v1beta.'],
    ['/v1/v1/messages', 'The path has two versions: take /v1 away from the end of the base URL.'],
    ['/v1beta/openai/v1/chat/completions', 'here. The path has two versions: take /v1 away from'],
    ['/v1beta/v1beta/models/gemini-9:generateContent', 'take /v1beta away from the end of the base URL.'],
  ] as const) {
    const { text, status } = await ask(path, chat)
    t.equal(status, 404, path)
    t.ok(text.includes(words), text)
  }
  const below = await ask('/google/v1beta/v1beta/models/gemini-9:generateContent', chat)
  t.equal(below.status, 501)
  t.match(below.text, 'that the gateway knows. The path has two versions: take /v1beta away from the end')
})

await t.test('a hello check without a key is logged at level debug, not as a refusal', async t => {
  const { gateway } = await start(t)

  const answer = await send(`${gateway.url}/api/hello`, { method: 'HEAD' })

  t.equal(answer.status, 401)
  const line = gateway.logLines.map(one => JSON.parse(one) as { level: string; operation?: string })
  t.equal(line.find(({ operation }) => operation === 'hello')?.level, 'debug')
})
