import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'
import { runHere } from '../cli/run-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]

/** Writes a plugin with these hooks: the source of an object's members. */
function pluginFile(t: Test, hooks: string, members = ''): string {
  const file = join(t.testdir(), 'broken.js')
  writeFileSync(
    file,
    `export const broken = { name: 'broken', ${members} create(context) { return { ${hooks} } } }`,
  )
  return file
}

async function startWith(t: Test, file: string) {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...chunked(openai.events.map(event => Buffer.from(event))),
            Buffer.from('0\r\n\r\n'),
          ],
        }
      : plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const plugins = ['auth', 'model-router', file, 'size-limit', 'upstream-proxy', 'usage-tap']
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { plugins }) })
  const ask = (isStreaming: boolean) =>
    send(gateway.url + openai.path(isStreaming), {
      headers: [...openai.keyHeader(gateway.key), 'content-type', 'application/json'],
      body: openai.body(isStreaming),
    })
  return { upstream, gateway, ask }
}

const harmless: Readonly<Record<string, string>> = {
  'onUpstreamRequest throws': `onUpstreamRequest() { throw new Error('oops') }`,
  'it sets a credential of the provider': `onUpstreamRequest(exchange, request) { request.setHeader('Authorization', 'Bearer mine') }`,
  'it frames the request': `onUpstreamRequest(exchange, request) { request.setHeader('Content-Length', '1') }`,
  'it breaks a header in two': `onUpstreamRequest(exchange, request) { request.setHeader('x-a', 'a\\r\\nx-b: b') }`,
  'onResponse throws': `onResponse() { throw 'a text' }`,
  'onResponse returns nonsense': `onResponse() { return 7 }`,
  'the tap throws': `onResponse() { return { onData() { throw new Error('oops') }, onText() { throw new Error('oops') } } }`,
  'the tap writes over the bytes': `onResponse() { return { onData(bytes) { bytes.fill(0) } } }`,
  'it frames the response': `onResponse(exchange) { exchange.addResponseHeader('Transfer-Encoding', 'chunked') }`,
  'it cuts with an error that is not its own': `onResponse(exchange) { exchange.cut(new Error('oops')) }`,
  'onCharge rejects': `async onCharge() { throw new Error('oops') }`,
  'onEnd throws': `onEnd() { throw new Error('oops') }`,
  'onEnd never ends': `onEnd() { return new Promise(() => undefined) }`,
}

for (const [name, hooks] of Object.entries(harmless)) {
  await t.test(`a broken plugin changes no byte and no charge: ${name}`, async t => {
    const { gateway, ask, upstream } = await startWith(t, pluginFile(t, hooks))

    for (const isStreaming of [false, true]) {
      const answer = await ask(isStreaming)

      t.equal(answer.status, 200)
      t.ok(answer.isWhole)
      t.equal(answer.body.toString(), isStreaming ? openai.events.join('') : openai.document)
      t.match(await gateway.chargeOf(answer.requestId), { usage: openai.usage, flags: [] })
    }
    t.notOk(
      upstream.requests.some(
        request => request.raw.includes('Bearer mine') || request.raw.includes('x-b: b'),
      ),
    )
    const isSilent = /bytes|never ends/.test(name)
    if (!isSilent) {
      await until(() => gateway.logLines.some(line => line.includes('"plugin":"broken"')))
    }
    t.same(await gateway.breaches(), [])
  })
}

const refusing: Readonly<Record<string, string>> = {
  'onRequest throws': `onRequest() { throw new Error('oops') }`,
  'onRequest throws nothing': `onRequest() { throw undefined }`,
  'onRequest rejects': `async onRequest() { throw new Error('oops') }`,
  'it reads a fact that is not set': `onRequest(exchange) { exchange.get('verdict') }`,
  'it raises an error that it did not declare': `onRequest() { throw context.error('unknown_code', 'no') }`,
  'it overwrites a fact of the gateway': `onRequest(exchange) { exchange.set('target', {}) }`,
  'onRequestText throws': `onRequestText() { throw new Error('oops') }`,
  'the reader throws': `onRequestText() { return { onText() { throw new Error('oops') } } }`,
  'the reader has no members': `onRequestText() { return {} }`,
  'the reader rejects at the end': `onRequestText() { return { onText() {}, async onEnd() { throw new Error('oops') } } }`,
}

for (const [name, hooks] of Object.entries(refusing)) {
  await t.test(`a failing gate refuses the request, and the log names its plugin: ${name}`, async t => {
    const { upstream, gateway, ask } = await startWith(t, pluginFile(t, hooks))

    const answer = await ask(false)

    t.equal(answer.status, 500)
    t.match(JSON.parse(answer.body.toString()), { error: { code: 'internal' } })
    t.equal(upstream.requests.length, 0)
    t.same(await gateway.charges(), [])
    await until(() =>
      gateway.logLines.some(line => line.includes('The plugin \\"broken\\" failed in onRequest')),
    )
    await noHoldIsLeft(t, gateway)
  })
}

const atBoot: readonly (readonly [name: string, source: string, message: RegExp])[] = [
  ['a syntax error', 'export const = 1', /broken\.js cannot be loaded: /],
  ['a throw while it is loaded', `throw new Error('oops')`, /broken\.js cannot be loaded: oops/],
  ['no export', 'const a = 1', /must have one export, the plugin, and has 0/],
  ['two exports', 'export const a = {}; export const b = {}', /must have one export, the plugin, and has 2/],
  [
    'a misspelt member',
    `export const a = { name: 'a', creat() {} }`,
    /unknown member "creat"; did you mean "create"\?/,
  ],
  ['no name', `export const a = { create() {} }`, /needs a name in lower case/],
  ['no create', `export const a = { name: 'a' }`, /has no function create/],
  [
    'a misspelt hook',
    `export const a = { name: 'a', create: () => ({ onReqest() {} }) }`,
    /unknown hook "onReqest"; did you mean "onRequest"\?/,
  ],
  [
    'a create that throws',
    `export const a = { name: 'a', create() { throw new Error('oops') } }`,
    /broken\.js"\]: cannot be created: oops/,
  ],
  [
    'a promise of hooks',
    `export const a = { name: 'a', async create() { return {} } }`,
    /must return its hooks from create, and not a promise/,
  ],
  [
    'an impossible status',
    `export const a = { name: 'a', errors: { no: { status: 200 } }, create: () => ({}) }`,
    /gives the error "no" the status 200/,
  ],
  [
    'a fact that no plugin provides',
    `export const a = { name: 'a', needs: ['verdict'], create: () => ({}) }`,
    /needs "plugin:verdict", and no enabled plugin provides it/,
  ],
  [
    'options that it does not accept',
    `export const a = { name: 'a', create: () => ({}) }`,
    /broken\.js"\]\.word: unknown key: this plugin takes no options but enabled/,
  ],
]

for (const [name, source, message] of atBoot) {
  await t.test(`gateway check and the start refuse a plugin with the same message: ${name}`, async t => {
    const options = name.startsWith('options') ? '{ word: a }' : ''
    const folder = t.testdir({
      'broken.js': source,
      'gateway.yaml': `plugins: [auth, model-router, { ./broken.js: ${options} }, size-limit, upstream-proxy, usage-tap]\n`,
    })

    const { code, stdout } = await runHere(['check', '--config', join(folder, 'gateway.yaml')])

    t.equal(code, 1)
    t.match(stdout, message)
    await t.rejects(
      startTestGateway(t, {
        config: callConfig(
          'http://127.0.0.1:9',
          {},
          {
            plugins: [
              'auth',
              'model-router',
              { [join(folder, 'broken.js')]: options === '' ? null : { word: 'a' } },
              'size-limit',
              'upstream-proxy',
              'usage-tap',
            ],
          },
        ),
      }),
      { message },
    )
  })
}

await t.test('gateway check names the file, line and path of every wrong option of a plugin', async t => {
  const folder = t.testdir({
    'limit.js': `export const limit = {
  name: 'limit',
  options: {
    '~standard': {
      validate: ({ words }) => ({
        issues: [
          { message: 'must be a text', path: ['words', { key: 1 }] },
          { message: 'is missing', path: ['from'] },
        ],
      }),
    },
  },
  create: () => ({}),
}
`,
    'gateway.yaml': 'include: [pipeline.yaml]\n',
    'pipeline.yaml': `plugins:
  - auth
  - model-router
  - ./limit.js:
      words: [a, 5]
  - size-limit
  - upstream-proxy
  - usage-tap
`,
  })

  const { code, stdout } = await runHere(['check', '--config', join(folder, 'gateway.yaml')])

  t.equal(code, 1)
  t.equal(
    stdout,
    `${join(folder, 'pipeline.yaml')}:5:18 plugins[2]["./limit.js"].words[1]: must be a text\n` +
      `${join(folder, 'pipeline.yaml')}:4:5 plugins[2]["./limit.js"].from: is missing\n`,
  )
})
