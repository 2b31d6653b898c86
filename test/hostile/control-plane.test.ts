import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// Resources of the operator's account at the provider: machines, keys, people, bills. A customer who reaches them
// spends the operator's money, or takes over the operator's account.

const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], '{"id":"created"}'),
)
const price = (input: string): object => ({ provider: 'somebody', rubPerMillion: { input, output: input } })
const somebody = {
  credentials: ['c'],
  dialects: {
    openai: { baseUrl: `${upstream.origin}/v1` },
    google: { baseUrl: `${upstream.origin}/v1beta` },
    anthropic: { baseUrl: `${upstream.origin}/v1` },
  },
}
const config = {
  providers: {
    somebody,
    // No pattern may cover these.
    open: { ...somebody, operations: ['/*'] },
    listed: { ...somebody, operations: ['/fim/completions', '/things/*'] },
  },
  models: {
    cheap: { ...price('1'), provider: ['somebody', 'open', 'listed'] },
    dear: { ...price('900'), provider: ['somebody', 'open', 'listed'] },
  },
}
const gateway = await startTestGateway(t, { config })

const machines = ['endpoints', 'deployments', 'accounts/a/deployments', 'deploy']
const keys = [
  'keys',
  'api_keys',
  'api-keys',
  'organization/projects/x/api_keys',
  'projects/x/service_accounts',
]
const people = ['organization/invites', 'organization/users/user_1', 'organizations/me', 'workspaces', 'user']
const bills = ['billing', 'credits', 'credits/coinbase', 'invoices', 'organization/costs']
const work = ['fine_tuning/jobs', 'fine-tuning', 'fineTuning', 'finetune', 'fine_tuning/alpha/graders/run']
const administration = [...machines, ...keys, ...people, ...bills, ...work]
/** Ways in which a provider may read the same path. */
const spellings = (path: string): readonly string[] => [
  path,
  path.toUpperCase(),
  `${path}/`,
  `${path}?model=cheap`,
  `${path};a=b`,
  path.replace(/[a-z]/, letter => `%${letter.charCodeAt(0).toString(16)}`),
  path.replace(/[a-z]/, letter => `%25${letter.charCodeAt(0).toString(16)}`),
]
const notListed = [
  'classifier/jobs',
  'agents',
  'things',
  'fim',
  'fim/completions/',
  'FIM/completions',
  'fim%2fcompletions',
]

const paths = [
  ...['/v1', '/v1beta'].flatMap(version => administration.map(path => `${version}/${path}`)),
  ...['somebody', 'open', 'listed'].flatMap(name =>
    administration.flatMap(path => spellings(path).map(spelled => `/${name}/v1/${spelled}`)),
  ),
  ...notListed.flatMap(path => [`/somebody/v1/${path}`, `/listed/v1/${path}`]),
  '/listed/v1/things/%65ndpoints',
  '/listed/v1/things/x/api_keys',
]

/** Every path is tried with POST; of the other methods only some, and all in a full run. */
const step = process.env['HOSTILE'] === 'full' ? 1 : 7
const someOf = (all: readonly string[]): readonly string[] => all.filter((_path, index) => index % step === 0)

for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'PATCH']) {
  await t.test(`${method}: unlisted paths and the operator's do not reach the provider`, async t => {
    for (const path of paths) {
      const { status } = await send(gateway.url + path, {
        method,
        headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
        ...(method !== 'GET' && method !== 'DELETE' && { body: '{"model":"cheap","input":"hi"}' }),
      })
      if (![400, 404, 405, 501].includes(status)) t.fail(`${method} ${path}: ${status}`)
    }
    t.comment(`${paths.length} paths`)
    t.equal(upstream.requests.length, 0)
  })
}

await t.test('for a single tenant they do not reach it either', async t => {
  const single = await startTestGateway(t, { config: { ...config, isolation: 'off' } })
  for (const path of someOf(paths)) {
    const { status } = await send(single.url + path, {
      method: 'GET',
      headers: ['authorization', `Bearer ${single.key}`],
    })
    if (![400, 404, 405, 501].includes(status)) t.fail(`GET ${path}: ${status}`)
  }
  t.equal(upstream.requests.length, 0)
})

await t.test('the refusal names the setting', async t => {
  const { status, body } = await send(`${gateway.url}/somebody/v1/classifier/jobs`, {
    headers: ['authorization', `Bearer ${gateway.key}`],
    body: '{"model":"cheap"}',
  })
  t.equal(status, 501)
  t.match(body.toString(), /providers\.somebody\.operations/)
})

await t.test('a path and a body that name two models are refused, even if both are listed', async t => {
  for (const [path, body] of [
    ['/open/v1beta/models/dear:generateAnswer', { model: 'cheap' }],
    ['/open/v1beta/models/dear:generateAnswer', { model: 'models/cheap' }],
    ['/listed/v1/things/models/dear/generate', { model: 'cheap' }],
    ['/listed/v1/things/models/dear', { model: 'cheap' }],
    ['/somebody/v1beta/models/dear:generateAnswer', { model: 'cheap' }],
    ['/v1beta/models/dear:generateContent', { model: 'models/cheap', contents: [] }],
    ['/v1beta/models/dear:embedContent', { model: 'cheap', content: {} }],
    ['/v1beta/models/dear:batchEmbedContents', { requests: [{ model: 'models/cheap', content: {} }] }],
    ['/v1beta/models/dear:countTokens', { generateContentRequest: { model: 'models/cheap' } }],
    ['/v1beta/models/dear:predict', { model: 'cheap', instances: [] }],
  ] as const) {
    const { status } = await send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`],
      body: JSON.stringify(body),
    })
    t.ok([400, 404, 501].includes(status), `${path}: ${status}`)
  }
  t.equal(upstream.requests.length, 0)
})

await t.test('nothing was charged', async t => {
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})

await t.test('listed paths are forwarded, and no others', async t => {
  for (const path of [
    '/listed/v1/fim/completions',
    '/listed/v1/things/one',
    '/listed/v1/things/models/cheap/generate',
  ]) {
    const { status, body } = await send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`],
      body: '{"model":"cheap"}',
    })
    t.equal(status, 200, `${path}: ${body.toString()}`)
  }
  t.equal(upstream.requests.length, 3)
})
