import { join } from 'node:path'
import t from 'tap'
import { knownProviders } from '../../../lib/providers/known-providers.ts'
import { loadConfig } from '../../../lib/config/load-config.ts'
import { plugins } from '../../../plugins/index.ts'
import { loadFiles } from './config-files.ts'

const shipped = join(import.meta.dirname, '../../../config/gateway.yaml')

await t.test('an empty file is the default configuration', async t => {
  const folder = t.testdir()
  const { config, notices } = loadFiles(folder, { 'gateway.yaml': '' })

  t.same(config.listen, { host: '127.0.0.1', port: 8080 })
  t.equal(config.publicUrl.href, 'http://127.0.0.1:8080/')
  t.same(config.store, { kind: 'sqlite', file: join(folder, '../data/gateway.db') })
  t.equal(config.durability, 'strict')
  t.equal(config.isolation, 'strict')
  t.equal(config.workers, 1)
  t.equal(config.admin, undefined)
  t.equal(config.tls, undefined)
  t.equal(config.unmetered, false)
  t.same(
    config.plugins.map(plugin => plugin.name),
    ['auth', 'model-router', 'size-limit', 'upstream-proxy', 'usage-tap'],
  )
  t.same(config.limits, {
    bodyMemoryBytes: 1_048_576,
    bodyBytesMax: 134_217_728,
    bodyBytesTotalMax: 1_073_741_824,
    connectionsMax: 20_000,
    headersMs: 10_000,
    bodyMs: 300_000,
    loopDelayMsMax: 500,
    writesWaitingMax: 30_000,
    answerMs: 10_800_000,
    answerBytesMax: 2 * 1024 ** 3,
    stallMs: 600_000,
    freeRequestsPerMinute: 3000,
    session: { sessionMs: 3_600_000, idleMs: 600_000, messageBytesMax: 16_777_216 },
  })
  t.same(config.uploads, { filesMax: 10_000, bytesMax: 5 * 1024 ** 3 })
  t.same(config.hold, {
    mediaRub: {},
    likelyOutputTokens: 4096,
    risk: { baseMicros: 30_000_000, perRoubleMicros: 1_000_000, maxMicros: 5_000_000_000 },
  })
  t.same(notices, [])
})

await t.test('a store that the next install of the package would delete causes a notice', async t => {
  const folder = t.testdir({ node_modules: { gateway: { config: {} } } })
  const inPackage = loadFiles(join(folder, 'node_modules/gateway/config'), { 'gateway.yaml': '' })

  t.match(inPackage.notices, [/data\/gateway\.db, which the next install deletes: .* --config/])
})

await t.test('every documented key is read', async t => {
  const folder = t.testdir({ 'cert.pem': '', 'key.pem': '' })
  const { config } = loadFiles(
    folder,
    {
      'gateway.yaml': `
listen: { host: 0.0.0.0, port: "\${PORT}" }
publicUrl: https://gateway.example.org
admin: { listen: { host: 127.0.0.1, port: 9090 } }
store: sqlite:store/money.db
durability: relaxed
workers: 1
include: []
plugins:
  - auth
  - model-router
  - size-limit: { anthropic: { imagesMax: 7, imageBytesMax: 5MB } }
  - upstream-proxy
  - usage-tap: { enabled: false }
providers:
  anthropic:
    credentials: [ "\${ANTHROPIC_API_KEY}" ]
    dialects: { anthropic: { baseUrl: https://api.anthropic.com/v1/ }, openai: null }
    egress: [ direct ]
    streamUsage: as-sent
    onClientLeft: abort
    timeouts: { connectMs: 5, firstByteMs: 6, silenceMs: 7 }
models:
  claude-sonnet-4-5: { provider: anthropic, upstreamModel: other, outputTokensMax: 64000, rubPerMillion: { input: "300" } }
  "claude-*": { provider: [anthropic], rubPerMillion: { input: "1" } }
  fast: { alias: claude-sonnet-4-5 }
defaultProvider: { anthropic: anthropic }
limits: { bodyMemoryBytes: 2MB, bodyBytesMax: 1000, bodyBytesTotalMax: 1.5 GB, connectionsMax: 5, headersMs: 6, bodyMs: 7 }
hold: { likelyOutputTokens: 100, mediaRub: { video: "3.5" } }
isolation: off
trustedProxies: [10.0.0.0/8, "::1"]
cors: { origins: [https://app.example.org] }
tls: { cert: cert.pem, key: key.pem }
log: { level: debug }
unmetered: true
`,
    },
    { env: { PORT: '0', ANTHROPIC_API_KEY: 'sk-ant\n' }, plugins },
  )

  t.same(config.listen, { host: '0.0.0.0', port: 0 })
  t.equal(config.publicUrl.href, 'https://gateway.example.org/')
  t.same(config.admin, { listen: { host: '127.0.0.1', port: 9090 } })
  t.same(config.store, { kind: 'sqlite', file: join(folder, 'store/money.db') })
  t.equal(config.durability, 'relaxed')
  t.same(
    config.plugins.map(plugin => plugin.name),
    ['auth', 'model-router', 'size-limit', 'upstream-proxy'],
  )
  t.match(config.plugins[2]?.options, { anthropic: { imagesMax: 7, imageBytesMax: 5_242_880 } })
  const provider = config.providers.get('anthropic')
  t.match(provider, {
    name: 'anthropic',
    kind: 'anthropic',
    credentials: [{ name: 'anthropic#ANTHROPIC_API_KEY', value: 'sk-ant' }],
    isOff: false,
    egress: [{ name: 'direct', weight: 1 }],
    streamUsage: 'as-sent',
    onClientLeft: 'abort',
    timeouts: { connectMs: 5, firstByteMs: 6, silenceMs: 7 },
  })
  t.equal(provider?.dialects.anthropic?.baseUrl.href, 'https://api.anthropic.com/v1')
  t.notOk(provider?.dialects.openai)
  t.match(config.models.get('claude-sonnet-4-5'), { upstreamModel: 'other', outputTokensMax: 64_000 })
  t.same(
    config.modelPatterns.map(model => model.name),
    ['claude-*'],
  )
  t.equal(config.aliases.get('fast'), 'claude-sonnet-4-5')
  t.same(config.defaultProvider, { openai: undefined, anthropic: 'anthropic', google: undefined })
  t.equal(config.limits.bodyMemoryBytes, 2_097_152)
  t.equal(config.limits.bodyBytesTotalMax, 1_610_612_736)
  t.match(config.hold, { likelyOutputTokens: 100, mediaRub: { video: '3.5' } })
  t.equal(config.isolation, 'off')
  t.same(config.trustedProxies, ['10.0.0.0/8', '::1'])
  t.same(config.cors, { origins: ['https://app.example.org'] })
  t.same(config.tls, { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') })
  t.same(config.log, { level: 'debug', clientAddress: 'truncated' })
  t.equal(config.unmetered, true)
})

await t.test('a later include wins over an earlier one, and the file over both', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `
include: [one.yaml, deep/two.yaml]
limits: { headersMs: 3 }
trustedProxies: [10.0.0.3]
`,
    'one.yaml':
      'limits: { headersMs: 1, bodyMs: 1, connectionsMax: 1 }\ntrustedProxies: [10.0.0.1, 10.0.0.2]\n',
    'deep/two.yaml': 'include: [three.yaml]\nlimits: { headersMs: 2, bodyMs: 2 }\n',
    'deep/three.yaml': 'limits: { bodyMs: 9 }\nstore: sqlite:here.db\n',
  })

  t.equal(config.limits.headersMs, 3)
  t.equal(config.limits.bodyMs, 2)
  t.equal(config.limits.connectionsMax, 1)
  t.same(config.trustedProxies, ['10.0.0.3'], 'lists are replaced, not joined')
  t.match(config.store, { file: /deep\/here\.db$/ }, 'a relative path starts at the file that contains it')
})

await t.test('the configuration is frozen at every depth', async t => {
  const { config } = loadConfig(shipped, { env: { OPENAI_API_KEY: 'sk' } })

  t.throws(() => Object.assign(config.listen, { port: 1 }), TypeError)
  t.throws(() => Object.assign(config, { workers: 2 }), TypeError)
  const models = config.models as Map<string, unknown>
  t.throws(() => models.set('x', {}), /frozen/)
  t.throws(() => models.clear(), /frozen/)
  t.throws(() => models.delete('gpt-5'), /frozen/)
  t.throws(
    () => Object.assign(config.models.get('gpt-5')?.prices[0]?.rubPerMillion ?? {}, { input: '0' }),
    TypeError,
  )
  const credentials = config.providers.get('openai')?.credentials as unknown[] | undefined
  t.throws(() => credentials?.push(1), TypeError)
})

await t.test('the shipped configuration starts with the sandbox alone', async t => {
  const { config, notices } = loadConfig(shipped, { env: {} })

  const on = [...config.providers.values()].filter(provider => !provider.isOff)
  t.same(
    on.map(provider => provider.name),
    ['sandbox'],
  )
  t.same(
    new Set(config.providers.keys()),
    new Set(knownProviders.keys()),
    'the shipped providers are exactly the known ones',
  )
  t.equal(notices.length, 1)
  t.match(notices[0], /openai \(OPENAI_API_KEY\).*cohere \(COHERE_API_KEY\)/)
  t.match(config.store, { file: join(import.meta.dirname, '../../../data/gateway.db') })
  t.same(config.admin?.listen, { host: '127.0.0.1', port: 9090 })
  for (const name of [
    'sandbox-chat',
    'sandbox-embedding',
    'gpt-5',
    'claude-sonnet-4-5',
    'gemini-2.5-flash',
  ]) {
    t.ok(config.models.get(name)?.prices.length, `${name} has a price`)
  }
})

await t.test('a provider is enabled when one of its credentials is set', async t => {
  const { config, notices } = loadFiles(
    t.testdir(),
    { 'gateway.yaml': 'providers: { openai: { credentials: ["${ONE}", "${TWO}"] } }' },
    { env: { ONE: '', TWO: 'sk-2' } },
  )

  const openai = config.providers.get('openai')
  t.equal(openai?.isOff, false)
  t.same(openai?.credentials, [{ name: 'openai#TWO', formerName: 'openai#2', value: 'sk-2' }])
  t.same(notices, [])
})

await t.test(
  'a key in the config itself is known by its place, and that is said where there are several',
  async t => {
    const load = (credentials: string) =>
      loadFiles(
        t.testdir(),
        { 'gateway.yaml': `providers: { openai: { credentials: [${credentials}] } }` },
        { env: { ONE: 'sk-1' } },
      )
    const namesOf = (credentials: string): readonly string[] =>
      load(credentials)
        .config.providers.get('openai')
        ?.credentials.map(({ name }) => name) ?? []

    t.same(namesOf('sk-a, "${ONE}", "a-${ONE}", { value: sk-b, name: main }'), [
      'openai#1',
      'openai#ONE',
      'openai#3',
      'openai#main',
    ])
    t.same(namesOf('{ value: " ${ONE} " }'), ['openai#ONE'])
    for (const twice of ['"${ONE}", { value: "${ONE}", weight: 2 }', '{ value: x, name: ONE }, "${ONE}"'])
      t.throws(() => namesOf(twice), /credentials\[1\].* the name or the variable of another one/)
    t.match(load('sk-a, "${ONE}", "a-${ONE}"').notices, [/^openai#1, openai#3: known only by their places; /])
    t.same(load('sk-a').notices, [])
    t.same(load('"${ONE}", { value: sk-b, name: main }').notices, [])
  },
)

await t.test('known providers have defaults, and a provider with "like" shares them', async t => {
  const { config } = loadFiles(
    t.testdir(),
    {
      'gateway.yaml': `
providers:
  openai: { credentials: ["\${KEY}"] }
  google: { credentials: ["\${KEY}"], onClientLeft: abort }
  openai-eu: { like: openai, credentials: ["\${KEY}"], dialects: { openai: { baseUrl: https://eu.example.org/v1 } } }
  twin: { like: anthropic, credentials: ["\${KEY}"] }
  local: { dialects: { openai: { baseUrl: http://127.0.0.1:8000/v1 } } }
`,
    },
    { env: { KEY: 'k' } },
  )

  const { providers } = config
  t.match(providers.get('openai'), {
    streamUsage: 'inject',
    onClientLeft: 'drain',
    egress: [{ name: 'direct', weight: 1 }],
  })
  t.equal(providers.get('openai')?.dialects.openai?.baseUrl.href, 'https://api.openai.com/v1')
  t.match(providers.get('google'), { streamUsage: 'as-sent', onClientLeft: 'abort' })
  t.equal(
    providers.get('google')?.dialects.google?.baseUrl.href,
    'https://generativelanguage.googleapis.com/v1beta',
  )
  t.match(providers.get('openai-eu'), { kind: 'openai', streamUsage: 'inject' })
  t.equal(providers.get('openai-eu')?.dialects.openai?.baseUrl.href, 'https://eu.example.org/v1')
  t.same(Object.keys(providers.get('twin')?.dialects ?? {}).sort(), ['anthropic', 'openai'])
  t.match(providers.get('local'), { kind: 'local', isOff: false, credentials: [] })
})

await t.test('credentials and egress have weights; providers have failover, limits, timeouts', async t => {
  const { config, notices } = loadFiles(
    t.testdir(),
    {
      'gateway.yaml': `
include: []
egress:
  fi-1: { url: "http://user:\${PASSWORD}@203.0.113.7:3128" }
  de-1: { url: "socks5://[2001:db8::1]" }
  ru-1: { url: "socks5://шлюз:п%40роль@прокси.рф:1080" }
providers:
  openai:
    credentials: ["\${ONE}", { value: "\${MISSING}" }, { value: "\${TWO}", weight: 3 }]
    egress: [fi-1, { name: de-1, weight: 2 }]
    failover: { on: [] }
    limits: { connectionsMax: 7 }
    timeouts: { firstByteMs: 30000 }
  anthropic:
    credentials: ["\${ONE}", { value: "\${TWO}", name: batch, timeouts: { silenceMs: "900000" } }]
    egress: [direct]
    timeouts: { firstByteMs: 40000 }
  mistral: { credentials: ["\${ONE}"], egress: [direct] }
  sandbox: {}
`,
    },
    { env: { ONE: 'one', TWO: 'two\n', PASSWORD: 'p' } },
  )

  const openai = config.providers.get('openai')
  t.same(openai?.credentials, [
    { name: 'openai#ONE', formerName: 'openai#1', value: 'one' },
    { name: 'openai#TWO', formerName: 'openai#3', value: 'two', weight: 3 },
  ])
  t.same(openai?.egress, [
    { name: 'fi-1', weight: 1 },
    { name: 'de-1', weight: 2 },
  ])
  t.same(openai?.failover, { on: [], attemptsMax: 4 })
  t.same(openai?.limits, { connectionsMax: 7, waitingMax: 1024, waitMs: 10_000 })
  t.same(openai?.timeouts, { connectMs: 5000, firstByteMs: 30_000, silenceMs: 600_000 })
  t.same(
    config.providers.get('anthropic')?.credentials,
    [
      { name: 'anthropic#ONE', formerName: 'anthropic#1', value: 'one' },
      {
        name: 'anthropic#batch',
        value: 'two',
        weight: 1,
        timeouts: { connectMs: 5000, firstByteMs: 40_000, silenceMs: 900_000 },
      },
    ],
    "a credential's timeouts override its provider's",
  )
  t.same(config.providers.get('mistral')?.failover, { on: [429, 503, 529], attemptsMax: 4 })
  t.same(
    config.providers.get('sandbox')?.egress,
    [{ name: 'direct', weight: 1 }],
    'its requests never leave the process',
  )
  t.equal(config.egress.get('fi-1')?.url.password, 'p')
  t.equal(config.egress.get('de-1')?.url.hostname, '[2001:db8::1]')
  t.equal(config.egress.get('ru-1')?.url.hostname, 'xn--h1adldfi.xn--p1ai', 'in the form for DNS')
  t.equal(decodeURIComponent(config.egress.get('ru-1')?.url.password ?? ''), 'п@роль')
  t.same(notices, [])
})
