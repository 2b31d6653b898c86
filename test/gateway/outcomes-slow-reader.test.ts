import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { chunked, headLines, startRawUpstream, type RawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const mebibyte = 1_048_576
const event = Buffer.from(`data: {"choices":[{"delta":{"content":"${'a'.repeat(65_000)}"}}]}\n\n`)
const events = [...Array<Buffer>(1000).fill(event), ...openai.events.slice(3).map(text => Buffer.from(text))]

/** Waits until no more bytes leave the provider for a tenth of a second, and returns how many have left. */
async function stalled(upstream: RawUpstream): Promise<number> {
  let sent = -1
  let since = performance.now()
  await until(() => {
    const [socket] = upstream.openSockets
    const now = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0)
    if (now !== sent) since = performance.now()
    sent = now
    return sent > 0 && performance.now() - since > 100
  }, 9000)
  return sent
}

await t.test(
  'a client that stops reading pauses the provider, and receives every byte when it reads on',
  async t => {
    const upstream = await startRawUpstream(t, () => ({
      pieces: [
        headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
        ...chunked(events),
      ],
    }))
    // Text of this length costs more than the usual balance of a test.
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin), rub: 100_000 })
    const rssBefore = process.memoryUsage.rss()
    const request = httpRequest(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    request.end(openai.body(true))
    const [response] = (await once(request, 'response')) as [IncomingMessage]

    const sent = await stalled(upstream)

    t.ok(sent < 40 * mebibyte, `${Math.round(sent / mebibyte)} of 62 MB have left the provider`)
    t.ok(process.memoryUsage.rss() - rssBefore < 150 * mebibyte, 'the memory used is bounded')
    t.same(await gateway.charges(), [])

    const received = createHash('sha256')
    for await (const chunk of response) received.update(chunk as Buffer)
    const expected = createHash('sha256')
    for (const one of events) expected.update(one)
    t.equal(received.digest('hex'), expected.digest('hex'))
    t.ok(response.complete)
    t.match(await settled(gateway, 1), [{ outcome: 'completed' }])
    t.match(await gateway.charges(), [{ usage: openai.usage, usageSource: 'provider' }])
    await checkMoney(t, gateway)
  },
)

await t.test(
  'a client that stops reading and then leaves has an aborted exchange like any other',
  async t => {
    const upstream = await startRawUpstream(t, () => ({
      pieces: [
        headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
        ...chunked(events),
      ],
    }))
    for (const policy of ['abort', 'drain']) {
      const gateway = await startTestGateway(t, {
        config: callConfig(upstream.origin, { onClientLeft: policy }),
        rub: 100_000,
      })
      const request = httpRequest(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}` },
      })
      request.on('error', () => undefined)
      request.end(openai.body(true))
      await once(request, 'response')
      await stalled(upstream)

      request.destroy()

      t.match(await settled(gateway, 1), [{ outcome: 'aborted' }])
      const usageSource = policy === 'drain' ? 'drained' : 'estimated'
      t.match(await gateway.charges(), [{ usageSource, outcome: 'aborted' }], policy)
      await checkMoney(t, gateway)
    }
  },
)
