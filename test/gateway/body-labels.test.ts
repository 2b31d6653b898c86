import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'

const form = 'multipart/form-data; boundary=b'
const fields = (model: string): string =>
  `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--b--\r\n`

await t.test('a body labelled as a form is refused where JSON is expected', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], '{"data":[{"b64_json":"AAAA"}]}'),
  )
  const gateway = await startTestGateway(t, {
    config: {
      providers: somebodyAt(upstream.origin),
      models: {
        'dall-e-2': { provider: 'somebody', rubPerUnit: { images: '1' } },
        dear: { provider: 'somebody', rubPerUnit: { images: '100' } },
        m: { provider: 'somebody', rubPerMillion: { input: '1', output: '1' } },
      },
    },
  })
  const others = JSON.stringify({
    contents: [{ parts: [{ fileData: { fileUri: 'https://g.example/v1beta/files/of-others' } }] }],
    generationConfig: { candidateCount: 8, maxOutputTokens: 100_000 },
  })
  for (const [path, body] of [
    // The default model costs little, and the form names an expensive one.
    ['/v1/images/generations', fields('dear')],
    ['/v1/images/generations', '{"model":"dear"}'],
    // The model is in the path, so the body could be forwarded unread.
    ['/v1beta/models/m:generateContent', others],
    ['/v1beta/models/m:streamGenerateContent', others],
    ['/v1beta/models/m:countTokens', others],
    ['/v1beta/models/m:embedContent', others],
    ['/v1/messages/count_tokens', '{"model":"m"}'],
    ['/v1/chat/completions', '{"model":"m"}'],
    ['/v1/batches', '{"model":"m"}'],
  ] as const) {
    const { status, body: answer } = await send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', form],
      body,
    })
    t.equal(status, 400, path)
    t.match(answer.toString(), 'sent as JSON')
  }
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
})
