import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import t from 'tap'
import { isMap, isScalar, parseDocument } from 'yaml'
import { parseAnswers, type ParsedAnswer } from '../fixtures/raw-client.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { mutated, Random, type RequestParts } from './request-mutations.ts'

// Requests with a few random changes are sent to the real listener. A provider's other parser must find what the
// gateway found: as many requests, the model that is charged, and nothing that only one of the two has seen.

const isFull = process.env['HOSTILE'] === 'full'
const requestCount = isFull ? 30_000 : 1500
const seed = Number(process.env['HOSTILE_SEED'] ?? 20261122)
const laneCount = 32
const patienceMs = 2000

interface Seen {
  readonly url: string
  readonly body: Buffer
  readonly encoding: string
  readonly contentType: string
}

const seen: Seen[] = []
const provider = createServer((request, response) => {
  void buffer(request).then(body => {
    const { 'content-encoding': encoding = '', 'content-type': contentType = '' } = request.headers
    seen.push({ url: request.url ?? '', body, encoding, contentType })
    response.writeHead(200, { 'content-type': 'application/json', 'x-seen-index': String(seen.length - 1) })
    response.end(
      '{"id":"x","usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1}}',
    )
  })
})
provider.listen(0, '127.0.0.1')
await once(provider, 'listening')
t.teardown(() => {
  provider.closeAllConnections()
  provider.close()
})
const priced = (price: string): object => ({
  provider: 'somebody',
  outputTokensMax: 10,
  rubPerMillion: { input: price, output: price },
  rubPerUnit: { audioSeconds: price },
})
const gateway = await startTestGateway(t, {
  rub: 1_000_000,
  config: {
    providers: somebodyAt(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`),
    models: { small: priced('1'), large: priced('1000') },
    limits: { headersMs: 500, bodyMs: 500, loopDelayMsMax: 600_000 },
    defaultProvider: { openai: 'somebody', anthropic: 'somebody', google: 'somebody' },
  },
})

function base(path: string, body: string, type = 'application/json'): RequestParts {
  return {
    line: `POST ${path} HTTP/1.1`,
    headers: [
      'host: a',
      `authorization: Bearer ${gateway.key}`,
      `content-type: ${type}`,
      'x-own: 1',
      'connection: close',
    ],
    body: Buffer.from(body),
    framing: 'length',
  }
}

const form = ['model', 'language']
  .map(
    name =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${name === 'model' ? 'small' : 'en'}\r\n`,
  )
  .join('')
const bases: readonly RequestParts[] = [
  base(
    '/v1/chat/completions',
    '{"model":"small","messages":[{"role":"user","content":"hi"}],"max_tokens":5}',
  ),
  base('/v1/responses', '{"model":"small","input":[{"role":"user","content":"hi"}],"tools":[]}'),
  base('/v1/embeddings', '{"input":["hi","you"],"model":"small"}'),
  base('/v1/messages', '{"max_tokens":5,"messages":[{"role":"user","content":"hi"}],"model":"small"}'),
  base('/v1/messages/count_tokens', '{"messages":[],"model":"small"}'),
  base('/v1beta/models/small:generateContent', '{"contents":[{"parts":[{"text":"hi"}]}]}'),
  base('/somebody/v1/things', '{"model":"small","input":"hi"}'),
  base('/v1/audio/transcriptions', `${form}--b--\r\n`, 'multipart/form-data; boundary=b'),
]

/** Everything received on a connection of its own. A gateway that waits for more of the request is left. */
async function exchange(bytes: Buffer): Promise<readonly ParsedAnswer[]> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(gateway.url).port) })
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined) // A reset is one way to end here.
  const timer = setTimeout(() => socket.destroy(), patienceMs)
  socket.write(bytes)
  await once(socket, 'close')
  clearTimeout(timer)
  return parseAnswers(Buffer.concat(chunks))
}

/** The models that different parsers find: the last of a name, and any that is spelled in another case. */
function modelsIn({ url, body, encoding, contentType }: Seen): readonly unknown[] {
  const inPath = /\/models\/([^/:?]+):/.exec(url)?.[1]
  const decode = { gzip: gunzipSync, 'x-gzip': gunzipSync, deflate: inflateSync, br: brotliDecompressSync }[
    encoding
  ]
  const plain = decode === undefined ? body : decode(body)
  if (/^multipart/i.test(contentType)) {
    return Array.from(
      plain.toString('latin1').matchAll(/name="?model"?[ \t]*\r\n(?:[^\r\n]+\r\n)*\r\n([^\r]*)\r\n/gi),
      found => found[1],
    )
  }
  const text = plain.toString('utf8')
  const parsed = JSON.parse(text) as Record<string, unknown>
  // A parser that keeps duplicates.
  const { contents } = parseDocument(text, { uniqueKeys: false, schema: 'json', logLevel: 'silent' })
  const pairs = isMap(contents) ? contents.items : []
  const twice = pairs
    .filter(({ key }) => isScalar(key) && String(key.value).toLowerCase() === 'model')
    .map(({ value }) => (isScalar(value) ? value.value : value))
  const named = [parsed['model'], ...twice].filter(model => model !== undefined && model !== null)
  return inPath === undefined ? named : [inPath, ...named]
}

await t.test(
  `the provider finds in ${requestCount} mutated requests what the gateway found`,
  { timeout: 580_000 },
  async t => {
    const random = new Random(seed)
    const requests = Array.from({ length: requestCount }, () => mutated(random.of(bases), random))
    const indexOf = new Map<string, number>()
    const statuses = new Map<number, number>()
    let next = 0
    const lane = async (): Promise<void> => {
      for (let at = next++; at < requests.length; at = next++) {
        for (const { status, headers } of await exchange(requests[at] as Buffer)) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          const index = headers.get('x-seen-index')
          if (index !== undefined) indexOf.set(headers.get('x-gateway-request-id') ?? '', Number(index))
        }
      }
    }
    await Promise.all(Array.from({ length: laneCount }, lane))
    await until(async () => (await gateway.balance()).heldMicros === 0)

    t.comment(
      `seed ${seed}: ${seen.length} of ${requestCount} reached the provider; ${JSON.stringify([...statuses])}`,
    )
    t.ok(seen.length > requestCount / 20, 'some reach the provider')
    t.ok((statuses.get(400) ?? 0) > requestCount / 5, 'many are refused')
    t.equal(statuses.get(500), undefined)
    t.equal(new Set(indexOf.values()).size, indexOf.size, 'each response belongs to one request')
    const charges = new Map((await gateway.charges()).map(charge => [charge.requestId, charge]))
    let compared = 0
    for (const [id, index] of indexOf) {
      const own = seen[index] as Seen
      const models = modelsIn(own)
      const charge = charges.get(id)
      if (own.url.includes('count_tokens')) continue
      compared += 1
      const isOne = models.length > 0 && models.every(model => model === charge?.model)
      if (!isOne)
        t.fail(
          `${own.url} ${own.body.toString('latin1')}: ${JSON.stringify(models)}, charged ${charge?.model}`,
        )
    }
    t.comment(`${compared} charges compared with what the provider parsed`)
    t.ok(compared > requestCount / 25)
    // A client that leaves before the response leaves a request behind, which is charged or listed in its own row.
    t.ok(seen.length - indexOf.size <= requestCount / 50, `${seen.length - indexOf.size} without a response`)
    t.same(await gateway.breaches(), [])
  },
)
