import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { configFor, isAboutCredential, recordedExchanges } from '../fixtures/recorded-exchange.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { loadRecordings, recordingsSkip } from '../lib/dialects/recordings.ts'

const recorded = recordingsSkip === false ? recordedExchanges(loadRecordings()) : []

t.test('recorded responses to invalid keys suspend the credential', { skip: recordingsSkip }, async t => {
  const exchanges = recorded.filter(isAboutCredential)
  t.ok(exchanges.length >= 10, `${exchanges.length} recordings`)
  for (const exchange of exchanges) {
    await t.test(exchange.recording.file, async t => {
      const { request, response } = exchange.recording
      const upstream = await startRawUpstream(t, () =>
        plainAnswer(
          response.status,
          Object.entries(response.headers)
            .filter(([name]) => name === 'content-type')
            .flat(),
          exchange.answer,
        ),
      )
      const config = configFor([exchange], upstream.origin, 'a-credential')
      const { providerName, dialect, recording } = exchange
      const like = /compat-([a-z]+)-/.exec(recording.file)?.[1]
      const providers = config['providers'] as Record<string, object>
      if (like !== undefined) providers[providerName] = { ...providers[providerName], like }
      const rubPerMillion = { input: '1000', output: '1000' }
      const gateway = await startTestGateway(t, {
        config: {
          ...config,
          models: { '*': { provider: providerName, rubPerMillion } },
          defaultProvider: { [dialect]: providerName },
        },
      })
      const ask = () =>
        send(gateway.url + exchange.path, {
          method: request?.method ?? 'POST',
          headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
          ...(exchange.body.length > 0 && { body: exchange.body }),
        })

      for (const answer of [await ask(), await ask()]) {
        t.equal(answer.status, 502, answer.body.toString())
        t.match(answer.body.toString(), /no working credential/)
        t.equal(answer.headers['x-should-retry'], 'false')
      }
      t.equal(upstream.requests.length, 1, 'the provider received one request')
      t.equal(gateway.logLines.filter(line => line.includes('credential_suspended')).length, 1)
      await until(async () => (await gateway.balance()).heldMicros === 0)
      t.same(await gateway.chargesOfWork(), [])
      t.same(await gateway.breaches(), [])
    })
  }
})
