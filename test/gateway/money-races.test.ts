import { once } from 'node:events'
import { Agent, createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { askOnce } from '../fixtures/paid-load.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { checkMoney } from '../fixtures/exchange-ends.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

/** An upstream that keeps every request until `answer` is called: until then all holds stay. */
async function startKeepingUpstream(t: Test) {
  const kept: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => kept.push(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    kept,
    answer() {
      const message = '{"role":"assistant","content":"Yes."}'
      const usage = '{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}'
      const body = `{"id":"c","object":"chat.completion","model":"test-model","choices":[{"index":0,"message":${message}}],"usage":${usage}}`
      for (const response of kept.splice(0)) {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
        response.end(body)
      }
    },
  }
}

// The load's plain request has the smallest hold here that covers its bytes and its 60 tokens of output.
const requestCount = 500
const moneyFor = 7
/** 20 tokens in and 5 out, at 1000 roubles a million. */
const costMicros = 25_000

async function holdMicros(t: Test, config: ReturnType<typeof callConfig>): Promise<number> {
  const gateway = await startTestGateway(t, { config, rub: 0.000001 })
  const { status, text } = await refusal(gateway.url, gateway.key)
  t.equal(status, 402)
  const [, required = ''] = /"likely":"(\d+\.\d{6})"/.exec(text) ?? []
  return Math.round(Number(required) * 1_000_000)
}

async function refusal(url: string, key: string): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({
    model: 'test-model',
    max_tokens: 60,
    messages: [{ role: 'user', content: 'Tell me a short story, please.' }],
  })
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  return { status: answer.status, text: await answer.text() }
}

await t.test('of 500 concurrent requests on a balance for 7, exactly 7 are admitted', async t => {
  const upstream = await startKeepingUpstream(t)
  const config = callConfig(upstream.origin)
  const each = await holdMicros(t, config)
  t.ok(each > 0)
  // Money for seven, and for almost one more.
  const gateway = await startTestGateway(t, { config, rub: (each * (moneyFor + 1) - 1) / 1_000_000 })
  const agent = new Agent({ keepAlive: true, maxSockets: requestCount })
  t.teardown(() => agent.destroy())
  const statuses: number[] = []
  const pending = Array.from({ length: requestCount }, async () => {
    statuses.push((await askOnce(gateway.url, gateway.key, false, agent)).status)
  })
  await until(() => statuses.length === requestCount - moneyFor, 20_000)
  t.ok(statuses.every(status => status === 402))
  await until(() => upstream.kept.length === moneyFor)
  t.match(await gateway.balance(), { heldMicros: each * moneyFor, availableMicros: each - 1 })

  upstream.answer()
  await Promise.all(pending)
  t.equal(statuses.filter(status => status === 200).length, moneyFor)
  t.equal((await gateway.charges()).length, moneyFor)
  t.equal((await gateway.balance()).balanceMicros, each * (moneyFor + 1) - 1 - moneyFor * costMicros)
  await checkMoney(t, gateway)
})
