import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const [openai, , google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]
const publicUrl = 'https://gateway.example.org/ai'
let told: string[] = []
const upstream = await startRawUpstream(t, ({ path }) =>
  plainAnswer(
    200,
    ['content-type', 'application/json', ...told],
    (path.startsWith('/v1beta') ? google : openai).document,
  ),
)
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { publicUrl }) })

/** What a client is told, by header, when its provider says these. */
async function toldBy(call: DialectCall, headers: readonly string[], path = call.path(false)) {
  told = [...headers]
  const answer = await send(gateway.url + path, {
    headers: call.keyHeader(gateway.key),
    body: call.body(false),
  })
  if (answer.status !== 200) throw new Error(answer.body.toString())
  return (name: string) => answer.headers[name]
}

await t.test("the provider's addresses become ours, below the path that was asked", async t => {
  const { origin } = upstream
  const location = `${origin}/v1/responses/resp_1?after=2#x`
  const under = await toldBy(openai, ['Location', location])
  t.equal(under('location'), `${publicUrl}/v1/responses/resp_1?after=2#x`)

  const relative = await toldBy(openai, ['Location', '/v1/responses/resp_1'])
  t.equal(relative('location'), `${publicUrl}/v1/responses/resp_1`)

  const named = await toldBy(openai, ['Content-Location', location], '/openai/v1/chat/completions')
  t.equal(named('content-location'), `${publicUrl}/openai/v1/responses/resp_1?after=2#x`)

  const upload = `${origin}/upload/v1beta/files?upload_id=1`
  const uploads = await toldBy(google, [
    'X-Goog-Upload-URL',
    upload,
    'x-goog-upload-control-url',
    `${origin}/v1beta/files/1`,
  ])
  t.equal(uploads('x-goog-upload-url'), `${publicUrl}/upload/v1beta/files?upload_id=1`)
  t.equal(uploads('x-goog-upload-control-url'), `${publicUrl}/v1beta/files/1`)
})

await t.test('addresses elsewhere, and what is none, are dropped; all else passes', async t => {
  for (const address of [
    'https://elsewhere.example/v1/x',
    '//elsewhere.example/x',
    upstream.origin.replace('127.0.0.1', 'localhost'),
    'http://[',
  ]) {
    const header = await toldBy(openai, ['Location', address, 'X-Other', address])
    t.equal(header('location'), undefined, address)
    t.equal(header('x-other'), address)
  }
})
