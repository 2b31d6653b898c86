import t, { type Test } from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call, jobClients, submit } from '../fixtures/job-kinds.ts'
import { startJobProvider, type JobProvider } from '../fixtures/job-provider.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const credit = 1_000_000_000
const oftenMs = 20
const seldomMs = 600_000

async function start(t: Test, pollMs: number): Promise<{ provider: JobProvider; gateway: TestGateway }> {
  const provider = await startJobProvider(t)
  return { provider, gateway: await startTestGateway(t, { config: jobConfig(provider.origin, pollMs) }) }
}

for (const client of jobClients) {
  await t.test(
    `${client.name}: the hold of a failed job is released when a client or the gateway sees the failure`,
    async t => {
      const { provider, gateway } = await start(t, seldomMs)
      const { id } = await submit(gateway, client)
      provider.end(id, 'failed')
      await call(gateway, 'GET', client.pathOf(id))
      t.match(await gateway.balance(), { balanceMicros: credit, heldMicros: 0 })
      const polling = await start(t, oftenMs)
      const { id: second } = await submit(polling.gateway, client)
      polling.provider.end(second, 'failed')
      await until(async () => (await polling.gateway.balance()).heldMicros === 0, 20_000)
      const nothing = { amount: '0.000000', lines: [], flags: ['provider_error'] }
      t.match(await gateway.charges(), [{ ...nothing, providerRequestId: id }])
      t.match(await polling.gateway.charges(), [{ ...nothing, providerRequestId: second }])
      t.same(await polling.gateway.breaches(), [])
    },
  )

  await t.test(
    `${client.name}: a job whose end several clients and the gateway see at once is charged once`,
    async t => {
      const { provider, gateway } = await start(t, 10)
      const { id } = await submit(gateway, client)
      const asking = Array.from({ length: 5 }, async () => {
        while ((await gateway.charges()).length === 0) await call(gateway, 'GET', client.pathOf(id))
        await call(gateway, 'GET', client.pathOf(id))
      })
      provider.end(id, 'done')
      await Promise.all(asking)
      t.equal((await gateway.charges()).length, 1)
      await noHoldIsLeft(t, gateway)
      t.same(await gateway.breaches(), [])
    },
  )

  await t.test(
    `${client.name}: a job is charged before it is deleted, and a running one is not deleted`,
    async t => {
      const { provider, gateway } = await start(t, seldomMs)
      const { id, requestId } = await submit(gateway, client)
      provider.end(id, 'done')
      t.equal((await call(gateway, 'DELETE', client.pathOf(id))).status, 200)
      t.match(await gateway.charges(), [{ requestId, amount: client.cost.toFixed(6), flags: [] }])

      const { id: running } = await submit(gateway, client)
      const refused = await call(gateway, 'DELETE', client.pathOf(running))
      t.equal(refused.status, 400, 'a deleted job could not be charged at its end')
      t.match(refused.body.toString(), 'has not ended')
      t.equal(provider.seen.filter(line => line.startsWith('DELETE')).length, 1)
      provider.end(running, 'done')
      t.equal((await call(gateway, 'DELETE', client.pathOf(running))).status, 200)
      t.equal((await gateway.charges()).length, 2)
      await noHoldIsLeft(t, gateway)
      t.same(await gateway.breaches(), [])
    },
  )
}

await t.test('a cancelled job is charged nothing', async t => {
  const { provider, gateway } = await start(t, seldomMs)
  const [, response] = jobClients
  if (response === undefined) throw new Error('there is no such kind')
  const { id } = await submit(gateway, response)
  t.equal((await call(gateway, 'POST', `/v1/responses/${id}/cancel`)).status, 200)
  t.match(await gateway.balance(), { balanceMicros: credit, heldMicros: 0 })
  t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['provider_error'] }])
  t.ok(provider.seen.includes(`POST /v1/responses/${id}/cancel`))
})

await t.test('a refused submission holds nothing, and creates no job', async t => {
  const { provider, gateway } = await start(t, oftenMs)
  provider.refuse()
  for (const client of jobClients) {
    t.equal((await call(gateway, 'POST', client.submitPath, client.body)).status, 400, client.name)
  }
  await until(async () => (await gateway.balance()).heldMicros === 0)
  t.equal(provider.jobs.size, 0)
  const charges = await gateway.charges()
  t.equal(charges.length, jobClients.length)
  t.ok(charges.every(({ amount, flags }) => amount === '0.000000' && flags.join() === 'provider_refused'))
  t.same(await gateway.breaches(), [])
})

await t.test('a response that is cancelled in its text is charged for the text and the prompt', async t => {
  const text = 'Words that were said. '.repeat(100)
  const output = [{ type: 'message', content: [{ type: 'output_text', text }] }]
  const upstream = await startRawUpstream(t, ({ path }) => {
    const response = path.endsWith('/cancel')
      ? { id: 'resp_1', status: 'cancelled', output, usage: null }
      : { id: 'resp_1', status: 'queued', output: [] }
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(response))
  })
  const gateway = await startTestGateway(t, { rub: 1000, config: jobConfig(upstream.origin, seldomMs) })
  const body = { model: 'gpt-5', input: 'Read this. '.repeat(4000), background: true }
  t.equal((await call(gateway, 'POST', '/v1/responses', body)).status, 200)
  await call(gateway, 'POST', '/v1/responses/resp_1/cancel')
  const [charge] = await gateway.charges()
  t.match(charge, { usageSource: 'estimated', flags: ['usage_missing', 'estimate_rough'] })
  const { input = 0, output: written = 0 } = charge?.usage ?? {}
  t.ok(input > 9000 && input < 15_000, `12,000 tokens of prompt: ${input}`)
  t.equal(written, text.length / 4)
  t.same(await gateway.breaches(), [])
})

/** The tokens of an image in OpenAI's table, at a thousandth of a rouble each. */
const drawnTokens = { low: 408, high: 6240 }
const drawing = {
  type: 'image_generation_call',
  status: 'completed',
  quality: 'high',
  result: 'iVBORw0KGgo=',
}
for (const { name, output, tokens } of [
  { name: 'an image', output: [drawing], tokens: drawnTokens.high },
  {
    name: 'two images, and another that failed',
    output: [{ ...drawing, status: 'failed' }, drawing, { ...drawing, quality: 'low' }],
    tokens: 2 * drawnTokens.low,
  },
]) {
  await t.test(`a response that is cancelled after ${name} is charged for the images`, async t => {
    const tools = [{ type: 'image_generation', model: 'gpt-image-1' }]
    const upstream = await startRawUpstream(t, ({ path }) => {
      const response = path.endsWith('/cancel')
        ? { id: 'resp_1', status: 'cancelled', tools, output, usage: null }
        : { id: 'resp_1', status: 'queued', output: [] }
      return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(response))
    })
    const config = jobConfig(upstream.origin, seldomMs)
    const rubPerMillion = { input: '0', imageInput: '0', imageOutput: '1000', output: '0' }
    const models = {
      ...(config['models'] as object),
      'gpt-image-1': { provider: 'openai', outputTokensMax: 10_000, rubPerMillion },
    }
    const gateway = await startTestGateway(t, { rub: 1000, config: { ...config, models } })
    const body = { model: 'gpt-5', input: 'Draw.', background: true, tools }
    t.equal((await call(gateway, 'POST', '/v1/responses', body)).status, 200)
    await call(gateway, 'POST', '/v1/responses/resp_1/cancel')
    const [charge, ...others] = await gateway.charges()
    t.match(charge, { usageSource: 'estimated' })
    t.match(
      charge?.lines.filter(({ meters }) => meters.imageOutput !== undefined),
      [{ model: 'gpt-image-1', amount: (tokens / 1000).toFixed(6) }],
    )
    t.same(others, [])
    await noHoldIsLeft(t, gateway)
    t.same(await gateway.breaches(), [])
  })
}
