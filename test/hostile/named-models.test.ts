import t from 'tap'
import { dialects } from '../../lib/routes/find-route.ts'
import { unitMeters } from '../../lib/money/usage.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { modelRequests, type ModelRequest } from '../fixtures/object-places.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// A request may name models beside its own: tools, advisors, fallbacks, transcripts. The requests are made from the
// interests by which bodies are read, so that a new place cannot be forgotten here.

const providers = ['openai', 'anthropic', 'google']
const priced = {
  provider: providers,
  rubPerMillion: { input: '1', output: '1', imageOutput: '1' },
  rubPerUnit: Object.fromEntries(unitMeters.map(meter => [meter, '1'])),
}
/** Vector stores are priced by these models, which no request names. */
const storeModels = ['text-embedding-3-large', 'gemini-embedding-2']
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"id":"x_1"}'),
)
const gateway = await startTestGateway(t, {
  config: callConfig(
    upstream.origin,
    {},
    {
      models: Object.fromEntries(
        ['main-model', 'allowed-model', 'forbidden-model', ...storeModels].map(name => [name, priced]),
      ),
      limits: { freeRequestsPerMinute: 1_000_000 },
    },
  ),
  keyModels: ['main-model', 'allowed-model', ...storeModels],
})

function ask(request: ModelRequest, isGoogle: boolean): Promise<ClientAnswer> {
  return send(gateway.url + request.path, {
    method: request.method,
    headers: [
      ...request.headers,
      ...(isGoogle ? ['x-goog-api-key', gateway.key] : ['authorization', `Bearer ${gateway.key}`]),
      'content-type',
      'application/json',
    ],
    body: JSON.stringify(request.body),
  })
}

const isFull = process.env['HOSTILE'] === 'full'
/** All of them in a full run, else some of each operation. */
const step = isFull ? 1 : 9
let count = 0
let asked = 0

for (const dialect of Object.values(dialects)) {
  const isGoogle = dialect.name === 'google'
  for (const row of dialect.routes) {
    const naming = (other: string): readonly ModelRequest[] =>
      modelRequests(dialect, row, { main: 'main-model', other })
    const requests = naming('forbidden-model')
    if (requests.length === 0) continue
    count += requests.length
    await t.test(`${dialect.name} ${row.path}: only models that have a price and are allowed`, async t => {
      const [unknown, own] = [naming('unpriced-model'), naming('main-model')]
      for (let index = 0; index < requests.length; index += step) {
        asked += 1
        const request = requests[index] as ModelRequest
        for (const one of [request, unknown[index] as ModelRequest]) {
          const { status, body } = await ask(one, isGoogle)
          // A second model of another price is refused as such, and so is a model other than the path's.
          if (![400, 403, 404, 501].includes(status) || !body.includes('odel'))
            t.fail(`${request.title}: ${status} ${body.toString()}`)
        }
        const { body } = await ask(own[index] as ModelRequest, isGoogle)
        if (/model_not_found|permission_denied|may not use/.test(body.toString()))
          t.fail(`${request.title}: its own model is no other: ${body.toString()}`)
      }
      t.same(
        upstream.requests.filter(({ body, path }) => /forbidden|unpriced/.test(path + body.toString())),
        [],
        'nothing is forwarded',
      )
    })
  }
}

await t.test('the matrix is as large as the interests', t => {
  t.comment(`${count} places in which bodies name models, ${asked} of them asked for`)
  t.ok(count > 150, String(count))
  t.ok(upstream.requests.length > 50, 'requests that name only their own model are forwarded')
  t.end()
})

await t.test('the ledger is in order', async t => {
  t.same(await gateway.breaches(), [])
})
