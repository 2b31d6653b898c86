import t from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// The gateway reads the body as JSON in UTF-8. A provider that believes another label, or decodes the bytes otherwise,
// finds another model in it, or another account's file.

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"id":"x"}'),
)
const gateway = await startTestGateway(t, {
  config: {
    providers: somebodyAt(upstream.origin),
    models: {
      m: {
        provider: 'somebody',
        rubPerMillion: { input: '1', output: '1' },
        rubPerUnit: { images: '1', characters: '1', searches: '1', videoSeconds: '1' },
      },
    },
    defaultProvider: { openai: 'somebody', anthropic: 'somebody', google: 'somebody' },
  },
})

function ask(path: string, headers: readonly string[], body: string | Buffer): Promise<ClientAnswer> {
  return send(gateway.url + path, { headers: ['authorization', `Bearer ${gateway.key}`, ...headers], body })
}

const paths = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/moderations',
  '/v1/rerank',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/audio/speech',
  '/v1/videos',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/messages/batches',
  '/v1beta/models/m:generateContent',
  '/v1beta/models/m:countTokens',
  '/v1beta/models/m:embedContent',
  '/v1beta/interactions',
  '/v1beta/cachedContents',
  '/somebody/v1/things',
]
const labels = [
  'application/x-www-form-urlencoded',
  'application/x-protobuf',
  'application/x-json-stream',
  'application/octet-stream',
  'application/xml',
  'text/plain',
  'text/html',
  'application/json; charset=utf-16',
  'application/json; charset=utf-7',
  'application/json;charset="utf-16le"',
  'application/json; charset=iso-8859-1',
  "application/json; charset*=utf-8''utf-16",
  'application/json, text/plain',
  'application/jsonx',
  'json',
]

for (const path of paths) {
  await t.test(`${path} accepts JSON in UTF-8 and nothing else`, async t => {
    const body = JSON.stringify({ model: path.includes(':') ? undefined : 'm' })
    for (const label of labels) {
      const { status } = await ask(path, ['content-type', label], body)
      if (status !== 400) t.fail(`${label}: ${status}`)
    }
    t.equal(upstream.requests.length, 0)
  })
}

await t.test('bytes that are not UTF-8 are refused, wherever they are', async t => {
  const around = (bytes: readonly number[]): Buffer[] => [
    Buffer.concat([
      Buffer.from('{"model":"m","messages":[],"mod'),
      Buffer.from(bytes),
      Buffer.from('el":"dear"}'),
    ]),
    Buffer.concat([Buffer.from('{"model":"m","messages":[],"a":"'), Buffer.from(bytes), Buffer.from('"}')]),
    Buffer.concat([
      Buffer.from(`{"model":"m","messages":[],"a":"${'x'.repeat(70_000)}`),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ]),
  ]
  for (const bytes of [
    [0xff],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xe2, 0x82],
    [0xf5, 0x80, 0x80, 0x80],
    [0x80],
  ]) {
    for (const body of around(bytes)) {
      const { status } = await ask('/v1/chat/completions', ['content-type', 'application/json'], body)
      if (status !== 400) t.fail(`${bytes.map(byte => byte.toString(16)).join(' ')}: ${status}`)
    }
  }
  const wide = Buffer.from('\ufeff{"model":"m","messages":[]}', 'utf16le')
  t.equal((await ask('/v1/chat/completions', [], wide)).status, 400)
  t.equal(upstream.requests.length, 0)
})

await t.test('a form is in UTF-8, and labels of another charset are refused', async t => {
  const part = (disposition: string, value: string): string => `--b\r\n${disposition}\r\n\r\n${value}\r\n`
  const field = (name: string, value: string, more = ''): string =>
    part(`Content-Disposition: form-data; name="${name}"${more}`, value)
  const file = part('Content-Disposition: form-data; name="file"; filename="a.wav"', 'x')
  const form = (...parts: readonly string[]): string =>
    `${field('model', 'm')}${file}${parts.join('')}--b--\r\n`
  const plain = 'multipart/form-data; boundary=b'

  for (const path of ['/v1/audio/transcriptions', '/v1/images/edits', '/v1/files']) {
    for (const [label, body] of [
      // FastAPI's forms read names and values in this charset: `+AG0-odel` is a second model.
      [`${plain}; charset=utf-7`, form(field('+AG0-odel', 'dear'))],
      [`${plain}; charset=utf-16`, form()],
      [`${plain}; charset*=utf-8''utf-16`, form()],
      // A parser that looks for `boundary=` without reading quotes finds another one.
      ['multipart/form-data; x="; boundary=c"; boundary=b', form()],
      [plain, form(field('prompt', 'Hi', '\r\nContent-Type: text/plain; charset=utf-16'))],
      [plain, form(field('_charset_', 'utf-7'))],
      [plain, form(field(' model', 'dear'))],
      [plain, form(field('model ', 'dear'))],
    ] as const) {
      if (path === '/v1/files' && label === plain) continue
      const { status, body: text } = await ask(path, ['content-type', label], body)
      t.equal(status, 400, `${path} ${label} ${text.toString()}`)
    }
  }
  t.equal(upstream.requests.length, 0)
  for (const label of [plain, `${plain}; charset=utf-8`, 'multipart/form-data;boundary="b"']) {
    const named = field('prompt', 'Hi', '\r\nContent-Type: text/plain; charset=UTF-8')
    const extra = field('response_format', 'verbose_json')
    const { status, body } = await ask(
      '/v1/audio/transcriptions',
      ['content-type', label],
      form(named, extra),
    )
    t.equal(status, 200, `${label} ${body.toString()}`)
  }
  upstream.requests.length = 0
})

await t.test('JSON in UTF-8 passes, however it is labelled', async t => {
  const text = JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: 'äöü €uro 𝄞'.repeat(20_000) }],
  })
  const own = [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'Application/JSON',
    'application/vnd.api+json',
    'text/json',
  ]
  for (const label of own) {
    const { status, body } = await ask('/v1/chat/completions', ['content-type', label], text)
    t.equal(status, 200, `${label}: ${body.toString()}`)
  }
  t.equal((await ask('/v1/chat/completions', [], text)).status, 200, 'no label')
})

await t.test('providers are requested to use only codings in which usage can be read', async t => {
  for (const [asked, sent] of [
    ['gzip, deflate, br, zstd', 'gzip, deflate, br, zstd'],
    ['gzip;q=1.0, *;q=0.5', 'gzip;q=1.0'],
    ['compress', 'identity'],
    ['*', 'identity'],
    ['dcb, br;q=0.5', 'br;q=0.5'],
    ['aes128gcm, exi', 'identity'],
  ] as const) {
    const before = upstream.requests.length
    await ask('/v1/chat/completions', ['accept-encoding', asked], '{"model":"m","messages":[]}')
    const { headers = [] } = upstream.requests[before] ?? {}
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'accept-encoding')
    t.equal(headers[at + 1], sent, asked)
  }
  t.same(await gateway.breaches(), [])
})
