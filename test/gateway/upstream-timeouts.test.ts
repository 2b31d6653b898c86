import t from 'tap'
import { startBlackHole } from '../fixtures/black-hole.ts'
import { callConfig, dialectCalls, providerCredential } from '../fixtures/dialect-call.ts'
import { exchangeEnds } from '../fixtures/exchange-ends.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const long = 60_000
const short = 150
const json = ['content-type', 'application/json']
const streamHead = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])

/** A gateway whose provider has `timeouts`, and its only credential `own`. */
function start(
  t: Parameters<typeof startTestGateway>[0],
  origin: string,
  timeouts: Readonly<Record<string, number>>,
  own: Readonly<Record<string, number>>,
): Promise<TestGateway> {
  const credentials = [{ value: providerCredential, name: 'own', timeouts: own }]
  return startTestGateway(t, { config: callConfig(origin, { timeouts, credentials }) })
}

for (const call of dialectCalls) {
  const ask = async (t: Parameters<typeof connectRaw>[0], gateway: TestGateway, isStreaming = false) => {
    const client = await connectRaw(t, gateway.url)
    const [name, value] = call.keyHeader(gateway.key)
    const body = call.body(isStreaming)
    client.socket.write(
      `POST ${call.path(isStreaming)} HTTP/1.1\r\nhost: g\r\n${name}: ${value}\r\nconnection: close\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    const end = await client.ended
    await until(() => exchangeEnds(gateway).length > 0)
    return { end, answer: parseAnswers(client.received())[0], ended: exchangeEnds(gateway)[0] }
  }

  // A failed connection is handled alike in every dialect; errors-upstream.test.ts tests them all.
  if (call.name === 'openai')
    await t.test(
      `${call.name}: a connection that exceeds the timeout of its credential is refused`,
      async t => {
        const gateway = await start(t, await startBlackHole(t), { connectMs: long }, { connectMs: short })

        const { answer, ended } = await ask(t, gateway)

        t.equal(answer?.status, 504)
        t.match(answer?.body.toString(), call.errorBody)
        t.match(ended, { outcome: 'refused', code: 'upstream_timeout' })
        t.same(await gateway.charges(), [])
        await until(async () => (await gateway.balance()).heldMicros === 0)
      },
    )

  await t.test(`${call.name}: a response that exceeds the timeout of its credential is refused`, async t => {
    const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
    const gateway = await start(t, upstream.origin, { firstByteMs: long }, { firstByteMs: short })

    const { answer, ended } = await ask(t, gateway)

    t.equal(answer?.status, 504)
    t.match(ended, { outcome: 'refused', code: 'upstream_timeout', credentialName: `${call.name}#own` })
    t.match(await gateway.charges(), [{ amount: '0.000000', flags: ['ambiguous'] }])
  })

  await t.test(`${call.name}: a stream that is silent for the timeout of its credential is cut`, async t => {
    const begun = chunked([Buffer.from(call.events.slice(0, call.eventsUntilText).join(''))])[0] as Buffer
    const upstream = await startRawUpstream(t, () => ({ pieces: [streamHead, begun] }))
    const gateway = await start(t, upstream.origin, { silenceMs: long }, { silenceMs: short })

    const { end, answer, ended } = await ask(t, gateway, true)

    t.equal(end, 'reset')
    t.equal(answer?.isWhole, false)
    t.match(ended, { outcome: 'broken' })
    t.match(await gateway.charges(), [{ outcome: 'broken' }])
    await until(async () => (await gateway.balance()).heldMicros === 0)
  })

  await t.test(`${call.name}: a credential may have longer timeouts than its provider`, async t => {
    const upstream = await startRawUpstream(t, async () => {
      // Longer than the provider's own timeouts allow.
      await new Promise(resolve => setTimeout(resolve, 4 * short))
      return plainAnswer(200, json, call.document)
    })
    const gateway = await start(
      t,
      upstream.origin,
      { firstByteMs: short, silenceMs: short },
      { firstByteMs: long, silenceMs: long },
    )

    const { answer, ended } = await ask(t, gateway)

    t.equal(answer?.body.toString(), call.document)
    t.match(ended, { outcome: 'completed' })
    t.match(await gateway.charges(), [{ amount: '0.046000', usageSource: 'provider', flags: [] }])
  })
}
