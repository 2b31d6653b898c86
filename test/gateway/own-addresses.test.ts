import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const [openai, , google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]
const publicUrl = 'https://gateway.example.org/ai'
let providerHeaders: string[] = []
const upstream = await startRawUpstream(t, ({ path }) =>
  plainAnswer(
    200,
    ['content-type', 'application/json', ...providerHeaders],
    (path.startsWith('/v1beta') ? google : openai).document,
  ),
)
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { publicUrl }) })

/** The headers of a response, by name, when the provider sends these. */
async function headersFor(call: DialectCall, headers: readonly string[], path = call.path(false)) {
  providerHeaders = [...headers]
  const answer = await send(gateway.url + path, {
    headers: call.keyHeader(gateway.key),
    body: call.body(false),
  })
  if (answer.status !== 200) throw new Error(answer.body.toString())
  return (name: string) => answer.headers[name]
}

await t.test(
  "the provider's URLs in headers become the gateway's, below the prefix of the request",
  async t => {
    const { origin } = upstream
    const location = `${origin}/v1/responses/resp_1?after=2#x`
    const under = await headersFor(openai, ['Location', location])
    t.equal(under('location'), `${publicUrl}/v1/responses/resp_1?after=2#x`)

    const relative = await headersFor(openai, ['Location', '/v1/responses/resp_1'])
    t.equal(relative('location'), `${publicUrl}/v1/responses/resp_1`)

    const named = await headersFor(openai, ['Content-Location', location], '/openai/v1/chat/completions')
    t.equal(named('content-location'), `${publicUrl}/openai/v1/responses/resp_1?after=2#x`)

    const upload = `${origin}/upload/v1beta/files?upload_id=1`
    const uploads = await headersFor(google, [
      'X-Goog-Upload-URL',
      upload,
      'x-goog-upload-control-url',
      `${origin}/v1beta/files/1`,
    ])
    t.equal(uploads('x-goog-upload-url'), `${publicUrl}/upload/v1beta/files?upload_id=1`)
    t.equal(uploads('x-goog-upload-control-url'), `${publicUrl}/v1beta/files/1`)
  },
)

await t.test('foreign and invalid URLs in these headers are dropped, and other headers pass', async t => {
  for (const address of [
    'https://elsewhere.example/v1/x',
    '//elsewhere.example/x',
    upstream.origin.replace('127.0.0.1', 'localhost'),
    'http://[',
  ]) {
    const header = await headersFor(openai, ['Location', address, 'X-Other', address])
    t.equal(header('location'), undefined, address)
    t.equal(header('x-other'), address)
  }
})

await t.test(
  "the URLs of batch results and of videos in bodies become the gateway's, and no others",
  async t => {
    const provider = await startRawUpstream(t, ({ path }) => {
      const body = path.includes('/operations/')
        ? `{"name":"models/veo/operations/1","done":true,"response":{"generateVideoResponse":{"generatedSamples":[ {"video":{"uri":"${provider.origin}/v1beta/files/f:download?alt=media"}} ]}}}`
        : `{"id":"msgbatch_1", "processing_status":"ended","results_url":"${provider.origin}/v1/messages/batches/msgbatch_1/results","note":"${provider.origin}/v1"}`
      return plainAnswer(200, ['content-type', 'application/json'], body)
    })
    const open = await startTestGateway(t, {
      config: callConfig(provider.origin, {}, { publicUrl, isolation: 'off' }),
    })
    const ask = (path: string, headers: readonly string[]) =>
      send(open.url + path, { method: 'GET', headers: [...headers, 'accept-encoding', 'gzip, br'] })
    for (const prefix of ['/v1', '/anthropic/v1']) {
      const answer = await ask(`${prefix}/messages/batches/msgbatch_1`, ['x-api-key', open.key])
      t.equal(
        answer.body.toString(),
        `{"id":"msgbatch_1", "processing_status":"ended","results_url":"${publicUrl}${prefix}/messages/batches/msgbatch_1/results","note":"${provider.origin}/v1"}`,
      )
      t.ok(answer.isWhole)
    }
    for (const prefix of ['/v1beta', '/google/v1beta']) {
      const answer = await ask(`${prefix}/models/veo/operations/1`, ['x-goog-api-key', open.key])
      t.match(
        answer.body.toString(),
        `[ {"video":{"uri":"${publicUrl}${prefix}/files/f:download?alt=media"}} ]`,
      )
    }
    const encodings = provider.requests.map(({ headers }) => headers[headers.indexOf('accept-encoding') + 1])
    t.same(new Set(encodings), new Set(['identity']), 'a body that may be changed is requested uncompressed')
  },
)
