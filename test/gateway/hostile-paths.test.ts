import t from 'tap'
import { isKnownOtherwise } from '../../lib/routes/refuse-path.ts'
import { dialects } from '../../lib/routes/find-route.ts'
import type { ProviderConfig } from '../../lib/config/config.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const origin = 'http://127.0.0.1:9'

await t.test('an unknown path is repeated literally in the error, and shortened', async t => {
  const gateway = await startTestGateway(t, { config: callConfig(origin) })
  const paths = [
    "/v1/$&$`$'$$",
    `/v1/${'$&'.repeat(5000)}`,
    `/v1beta/${"$'".repeat(5000)}`,
    `/${'a'.repeat(10_000)}`,
    `/gateway/v1/${'a'.repeat(10_000)}`,
  ]
  for (const path of paths) {
    const linesBefore = gateway.logLines.length
    const request = `GET ${path} HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n`
    const [answer] = parseAnswers((await sendRaw(t, gateway.url, request)).bytes)
    t.equal(answer?.status, 404)
    const text = answer?.body.toString() ?? ''
    t.ok(text.length < 1000, `${text.length} characters for a path of ${path.length}`)
    t.ok(text.includes(JSON.stringify(path.slice(0, 100)).slice(1, -1)), 'it names the path')
    const logged = gateway.logLines.slice(linesBefore).join('')
    t.ok(logged.length < 2000, `${logged.length} characters are logged`)
  }
  t.same(await gateway.breaches(), [])
})

await t.test('a path of a million characters is matched within ten seconds', async t => {
  const baseUrl = new URL('https://api.example/v1')
  const provider = { name: 'example', dialects: { openai: { baseUrl } } } as unknown as ProviderConfig
  // Each would take minutes if every slash or blank started another scan to the end.
  for (const part of [';/', '%20', '/;a']) {
    const path = `/new/${part.repeat(Math.ceil(1_000_000 / part.length))}x`
    const began = performance.now()
    t.notOk(isKnownOtherwise(provider, dialects, dialects.openai, 'POST', path), part)
    t.ok(performance.now() - began < 10_000, part)
  }
  for (const ending of ['/', '/;a/;b', '%20', '%09/%20', ';a'])
    t.ok(isKnownOtherwise(provider, dialects, dialects.openai, 'POST', `/responses${ending}`), ending)
})
