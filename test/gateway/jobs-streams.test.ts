import { once } from 'node:events'
import t, { type Test } from 'tap'
import { jobConfig, jobCosts } from '../fixtures/job-gateway.ts'
import { call, streamedResponse as body, submitStream } from '../fixtures/job-kinds.ts'
import { responseEvents, startJobProvider, type JobProvider } from '../fixtures/job-provider.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const cost = jobCosts.response.toFixed(6)

async function start(t: Test, pollMs: number): Promise<{ provider: JobProvider; gateway: TestGateway }> {
  const provider = await startJobProvider(t)
  return { provider, gateway: await startTestGateway(t, { config: jobConfig(provider.origin, pollMs) }) }
}

await t.test('a background response that is streamed to its end is charged by its stream', async t => {
  const { provider, gateway } = await start(t, 600_000)
  const answering = call(gateway, 'POST', '/v1/responses', body)
  await until(() => provider.streams.length === 1)
  provider.streams[0]?.end(responseEvents('resp_1', 'done')[1])
  const answer = await answering
  t.match(await gateway.charges(), [{ requestId: answer.requestId, amount: cost, flags: [] }])
  await noHoldIsLeft(t, gateway)
  provider.end('resp_1', 'done')
  await call(gateway, 'GET', '/v1/responses/resp_1?stream=true')
  t.equal((await gateway.charges()).length, 1)
})

await t.test('a response whose client leaves its stream is charged when it is done', async t => {
  const { provider, gateway } = await start(t, 20)
  const { request } = await submitStream(gateway)
  request.destroy()
  provider.streams[0]?.destroy()
  await until(() => provider.seen.includes('GET /v1/responses/resp_1'), 20_000)
  t.ok((await gateway.balance()).heldMicros > 0, 'the hold remains while the provider works')
  provider.end('resp_1', 'done')
  await until(async () => (await gateway.charges()).length === 1, 20_000)
  t.match(await gateway.charges(), [{ amount: cost, flags: [] }])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('a stored response that is done is charged when its events are streamed', async t => {
  const { provider, gateway } = await start(t, 600_000)
  await call(gateway, 'POST', '/v1/responses', { ...body, stream: false })
  await call(gateway, 'GET', '/v1/responses/resp_1?stream=true&starting_after=0')
  t.same(await gateway.charges(), [])
  provider.end('resp_1', 'done')
  const answer = await call(gateway, 'GET', '/v1/responses/resp_1?stream=true&starting_after=0')
  t.equal(answer.body.toString(), responseEvents('resp_1', 'done').join(''), 'byte for byte')
  t.match(await gateway.charges(), [{ amount: cost, flags: [] }])
  t.same(await gateway.breaches(), [])
})

const words = 'x'.repeat(400)
const delta = `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', delta: words })}\n\n`
const cancelled = responseEvents('resp_1', 'cancelled')[1].replaceAll('.completed', '.cancelled')

await t.test('the text of a stream before its cancellation is charged', async t => {
  const { provider, gateway } = await start(t, 600_000)
  const answering = call(gateway, 'POST', '/v1/responses', body)
  await until(() => provider.streams.length === 1)
  provider.streams[0]?.end(delta + cancelled)
  await answering
  const [charge] = await gateway.charges()
  t.match(charge, { usageSource: 'estimated' })
  t.ok(Number(charge?.usage['output']) > 0)
  await noHoldIsLeft(t, gateway)
})

await t.test('the text is charged although the client leaves the stream and then cancels', async t => {
  const { provider, gateway } = await start(t, 600_000)
  const { request, answer } = await submitStream(gateway)
  provider.streams[0]?.write(delta)
  await once(answer, 'data')
  request.destroy()
  t.equal((await call(gateway, 'POST', '/v1/responses/resp_1/cancel')).status, 200)
  provider.streams[0]?.end(cancelled)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ usageSource: 'estimated' }])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('the text is charged although the client cancels while it reads the stream', async t => {
  const { provider, gateway } = await start(t, 600_000)
  const { answer } = await submitStream(gateway)
  provider.streams[0]?.write(delta)
  await once(answer, 'data')

  const deletion = await call(gateway, 'DELETE', '/v1/responses/resp_1')
  t.equal(deletion.status, 400, 'an uncharged response is not deleted')
  t.notOk(provider.seen.includes('DELETE /v1/responses/resp_1'))
  t.equal((await call(gateway, 'POST', '/v1/responses/resp_1/cancel')).status, 200)
  t.same(await gateway.charges(), [])
  t.ok((await gateway.balance()).heldMicros > 0, 'the hold remains until the stream ends')

  const rest = answer.toArray()
  provider.streams[0]?.end(cancelled)
  t.equal(Buffer.concat(await rest).toString(), cancelled)
  const [charge, ...others] = await gateway.charges()
  t.match(charge, { usageSource: 'estimated', requestId: answer.headers['x-gateway-request-id'] })
  t.ok(Number(charge?.usage['output']) > 0)
  t.same(others, [])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('the gateway does not poll a job while its stream runs', async t => {
  const { provider, gateway } = await start(t, 20)
  const { answer } = await submitStream(gateway)
  const asked = 'GET /v1/responses/resp_1'
  // A job without a stream is polled several times meanwhile.
  await call(gateway, 'POST', '/v1/responses', { ...body, stream: false })
  await until(() => provider.seen.filter(line => line === 'GET /v1/responses/resp_2').length > 5, 20_000)
  t.notOk(provider.seen.includes(asked))

  const rest = answer.toArray()
  provider.streams[0]?.end(responseEvents('resp_1', 'done')[1])
  await rest
  t.match(await gateway.charges(), [{ amount: cost, flags: [] }])
  t.same(await gateway.breaches(), [])
})

await t.test('the gateway polls the job of a stream that breaks off', async t => {
  const { provider, gateway } = await start(t, 20)
  const { answer, firstEvent } = await submitStream(gateway)
  t.equal(firstEvent, responseEvents('resp_1', 'running')[0], 'byte for byte')
  provider.streams[0]?.destroy()
  await new Promise(resolve => answer.once('close', resolve))
  t.ok((await gateway.balance()).heldMicros > 0)
  provider.end('resp_1', 'cancelled')
  await until(async () => (await gateway.balance()).heldMicros === 0, 20_000)
  t.match(await gateway.charges(), [{ amount: '0.000000' }], 'its provider bills nothing')
  t.same(await gateway.breaches(), [])
})

await t.test('a job with text and without usage is charged by its text', async t => {
  const { provider, gateway } = await start(t, 600_000)
  await call(gateway, 'POST', '/v1/responses', { ...body, stream: false })
  provider.extra = delta
  provider.end('resp_1', 'cancelled')
  await call(gateway, 'GET', '/v1/responses/resp_1?stream=true')
  t.match(await gateway.charges(), [{ usageSource: 'estimated', usage: { output: 100 } }])
  await noHoldIsLeft(t, gateway)
})
