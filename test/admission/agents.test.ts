import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { agents, hello, type Agent } from './agents.ts'
import { chatAnswer, messageAnswer, responseAnswer } from './answers.ts'

/** As in config/models.yaml. */
const models = {
  'claude-sonnet-5': {
    provider: 'anthropic',
    contextTokensMax: 1_000_000,
    outputTokensMax: 128_000,
    rubPerMillion: {
      input: '300',
      cachedInput: '30',
      cacheWrite5m: '375',
      cacheWrite1h: '600',
      output: '1500',
    },
    rubPerUnit: { searches: '1' },
  },
  'gpt-5-codex': {
    provider: 'openai',
    contextTokensMax: 400_000,
    outputTokensMax: 128_000,
    rubPerMillion: { input: '125', cachedInput: '12.5', output: '1000' },
    rubPerUnit: { searches: '1' },
  },
  'gpt-5-mini': {
    provider: 'openai',
    contextTokensMax: 400_000,
    outputTokensMax: 128_000,
    rubPerMillion: { input: '25', cachedInput: '2.5', output: '200' },
  },
}

const used = { input: 20_000, output: 500 }
const answers: Readonly<Record<string, object>> = {
  '/v1/messages': messageAnswer(used),
  '/v1/responses': responseAnswer(used),
  '/v1/chat/completions': chatAnswer({ input: 10, output: 20 }),
}

/** A provider that responds once this many requests are running at the same time. */
async function start(t: Test, rub: number, atOnce: number) {
  let running = 0
  const upstream = await startRawUpstream(t, async ({ path }) => {
    running += 1
    for (let waited = 0; running < atOnce && waited < 200; waited++) await delay(50)
    const answer = answers[path.replace(/\?.*/, '')] ?? {}
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer))
  })
  const provider = (name: string) => ({
    credentials: ['c'],
    dialects: { [name]: { baseUrl: `${upstream.origin}/v1` } },
  })
  const gateway = await startTestGateway(t, {
    rub,
    config: { providers: { openai: provider('openai'), anthropic: provider('anthropic') }, models },
  })
  const ask = ({ path, body }: Agent) =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
  const quote = async ({ path, body }: Agent) => {
    const { body: text } = await send(`${gateway.url}/gateway/v1/quote?for=${path.replace(/\?.*/, '')}`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
    return JSON.parse(text.toString()) as { readonly likely: string; readonly worst: string }
  }
  return { gateway, ask, quote }
}

for (const agent of agents) {
  await t.test(`four of ${agent.name} run at once after a payment of a hundred roubles`, async t => {
    const { gateway, ask, quote } = await start(t, 100, 4)
    const { likely, worst } = await quote(agent)
    t.comment(`${agent.name}: likely ${likely}, worst ${worst}, held ${agent.heldBeforeRub} before`)

    const responses = await Promise.all(Array.from({ length: 4 }, () => ask(agent)))

    for (const { status, body } of responses) t.equal(status, 200, body.toString().slice(0, 300))
    t.ok(Number(worst) < agent.heldBeforeRub)
    t.same(await gateway.breaches(), [])
  })
}

await t.test('a hello without a cap runs after a payment of ten roubles', async t => {
  const { ask } = await start(t, 10, 1)
  t.equal((await ask(hello)).status, 200)
})
