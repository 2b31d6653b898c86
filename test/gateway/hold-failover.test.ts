import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** An origin at which no server listens. */
async function closedOrigin(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** The first provider reads `max_tool_calls` and is unreachable; the second ignores it. */
async function start(t: Test, rub: number, rubPerUnit: Readonly<Record<string, string>>) {
  const usage = { input_tokens: 10_000, output_tokens: 100, total_tokens: 10_100 }
  const answer = { id: 'r', object: 'response', model: 'm', status: 'completed', output: [], usage }
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
  )
  const one = (like: string, origin: string): object => ({
    like,
    credentials: ['c'],
    dialects: { openai: { baseUrl: `${origin}/v1` } },
  })
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: { first: one('openai', await closedOrigin()), second: one('groq', upstream.origin) },
      models: {
        m: {
          provider: ['first', 'second'],
          outputTokensMax: 100,
          contextTokensMax: 1000,
          rubPerMillion: { input: '1000', output: '1000' },
          rubPerUnit,
        },
      },
    },
  })
  const ask = (tool: object): ReturnType<typeof send> =>
    send(`${gateway.url}/v1/responses`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify({ model: 'm', input: 'Hi', max_tool_calls: 1, tools: [tool] }),
    })
  return { upstream, gateway, ask }
}

await t.test('a request is held for at the most expensive provider that it may be sent to', async t => {
  const { upstream, ask } = await start(t, 8, { searches: '0' })
  t.equal((await ask({ type: 'mcp' })).status, 402)
  t.equal(upstream.requests.length, 0)

  const rich = await start(t, 15, { searches: '0' })
  const { status, requestId } = await rich.ask({ type: 'mcp' })
  t.equal(status, 200)
  t.match(await rich.gateway.chargeOf(requestId), { amount: '10.100000', flags: [] })
  t.same(await rich.gateway.breaches(), [])
})

await t.test('a provider without a price for a tool is skipped', async t => {
  const { upstream, ask } = await start(t, 100, { containers: '0' })
  t.equal(
    (await ask({ type: 'code_interpreter' })).status,
    200,
    'a code interpreter needs no price for searches',
  )
  t.equal((await ask({ type: 'file_search' })).status, 501)
  t.equal(upstream.requests.length, 1)
})
