import { join } from 'node:path'
import t from 'tap'
import { formatProblem } from '../../../lib/config/config-error.ts'
import { problemsOf } from './config-files.ts'

/** One wrong value each: the YAML, the path of the problem, its message, and the name it suggests. */
const cases: readonly (readonly [yaml: string, path: string, message: RegExp, nearest?: string])[] = [
  ['litsen: {}', 'litsen', /unknown key/, 'listen'],
  ['listen: { prot: 1 }', 'listen.prot', /unknown key/, 'port'],
  ['admin: { port: 9090 }', 'admin.port', /unknown key; there are listen, /],
  ['listen: { port: 70000 }', 'listen.port', /whole number from 0 to 65535/],
  ['listen: { port: "70000" }', 'listen.port', /whole number from 0 to 65535/],
  ['listen: 8080', 'listen', /must be a map/],
  ['admin: {}', 'admin.listen', /is missing/],
  ['publicUrl: gateway', 'publicUrl', /must be a URL/],
  ['store: mysql:x', 'store', /sqlite:FILE/],
  ['store: ../data/gateway.db', 'store', /sqlite:FILE/],
  ['store: "postgres://[x"', 'store', /no URL/],
  ['models:\n  gpt-5: {}\n  gpt-5: {}', '', /^gpt-5 stands twice in one map$/],
  ['models: { "a:b": {}, "a:b": {} }', '', /^"a:b" stands twice in one map$/],
  ['durability: strickt', 'durability', /"strict", "relaxed"/, 'strict'],
  ['isolation: on', 'isolation', /"strict", "off"/],
  ['log: { level: verbose }', 'log.level', /one of/],
  ['log: { level: wran }', 'log.level', /one of/, 'warn'],
  [
    'listen: { port: 80 }\nadmin: { listen: { port: 80 } }',
    'admin.listen.port',
    /80 is the port of listen already/,
  ],
  [
    'admin: { listen: { host: 0.0.0.0, port: 90 } }\naccountArea: { listen: { port: 90 } }',
    'accountArea.listen.port',
    /90 is the port of admin\.listen already/,
  ],
  ['limits: { bodyMs: 0 }', 'limits.bodyMs', /from 1/],
  ['limits: { bodyBytesMax: 5XB }', 'limits.bodyBytesMax', /size such as 5MB/],
  ['limits: { bodyBytesMax: 0 }', 'limits.bodyBytesMax', /size/],
  ['uploads: { filesMax: 0 }', 'uploads.filesMax', /from 1/],
  ['uploads: { bytesMax: 5XB }', 'uploads.bytesMax', /size such as 5MB/],
  ['hold: { mediaRub: { vdeo: "1" } }', 'hold.mediaRub.vdeo', /unknown key/, 'video'],
  ['hold: { mediaRub: { video: 1 } }', 'hold.mediaRub.video', /in quotes/],
  ['hold: { mediaRub: { video: "0.0000001" } }', 'hold.mediaRub.video', /6 decimals/],
  ['trustedProxies: [10.0.0.0/33]', 'trustedProxies[0]', /network/],
  ['cors: { origins: [https://a.example/path] }', 'cors.origins[0]', /origin/],
  ['tls: { cert: no.pem, key: no.pem }', 'tls.cert', /there is no file/],
  // A link to itself fails for root too, unlike a folder without permissions.
  ['tls: { cert: loop, key: loop }', 'tls.key', /loop cannot be read: ELOOP/],
  ['plugins: [auth, model-ruter]', 'plugins[1]', /unknown plugin "model-ruter"/, 'model-router'],
  ['plugins: [auth, cachee]', 'plugins[1]', /unknown plugin "cachee"; there are auth, model-router, /],
  ['plugins: [auth, auth]', 'plugins[1]', /twice/],
  ['plugins: [{ auth: {}, usage-tap: {} }]', 'plugins[0]', /one plugin/],
  ['plugins: [{ auth: { strict: true } }]', 'plugins[0].auth.strict', /takes no options/],
  ['plugins: [{ size-limit: { anthropc: {} } }]', 'plugins[0].size-limit.anthropc', /unknown/, 'anthropic'],
  ['plugins: [{ auth: { enabled: 3 } }]', 'plugins[0].auth.enabled', /true or false/],
  ['providers: { v1beta: {} }', 'providers.v1beta', /reserved/],
  ['providers: { "a/b": {} }', 'providers["a/b"]', /path segment/],
  ['providers: { openai: {} }', 'providers.openai.credentials', /is missing/],
  ['providers: { mine: { credentials: [a] } }', 'providers.mine', /no dialect/],
  ['providers: { sandbox: { streamUsage: injct } }', 'providers.sandbox.streamUsage', /one of/, 'inject'],
  [
    'providers: { sandbox: { onClientLeaves: drain } }',
    'providers.sandbox.onClientLeaves',
    /unknown/,
    'onClientLeft',
  ],
  ['providers: { x: { like: opnai, credentials: [] } }', 'providers.x.like', /unknown provider/, 'openai'],
  ['providers: { sandbox: { egress: [fi-1] } }', 'providers.sandbox.egress[0]', /unknown egress/],
  ['providers: { openai: { credentials: ["a b"] } }', 'providers.openai.credentials[0]', /printable/],
  [
    'providers: { openai: { credentials: ["${1X}"] } }',
    'providers.openai.credentials[0]',
    /names no variable/,
  ],
  [
    'providers: { x: { credentials: [a], dialects: { openai: { baseUrl: http://example.org } } } }',
    'providers.x.dialects.openai.baseUrl',
    /loopback/,
  ],
  [
    'providers: { x: { credentials: [a], dialects: { openai: { baseUrl: "https://u:p@example.org" } } } }',
    'providers.x.dialects.openai.baseUrl',
    /must not hold a user/,
  ],
  [
    'providers: { sandbox: {} }\nmodels: { m: { provider: sandbx } }',
    'models.m.provider',
    /unknown provider/,
    'sandbox',
  ],
  [
    'providers: { sandbox: {} }\nmodels: { m: { provider: [sandbox, x] } }',
    'models.m.provider[1]',
    /unknown provider/,
  ],
  ['models: { m: {} }', 'models.m.provider', /is missing/],
  ['models: { a: { alias: b }, b: { alias: a } }', 'models.a.alias', /back to itself: a -> b -> a/],
  ['models: { a: { alias: gtp-5 } }', 'models.a.alias', /unknown model/],
  [
    'defaultProvider: { openai: opnai }\nproviders: { sandbox: {} }',
    'defaultProvider.openai',
    /unknown provider/,
  ],
  ['publicUrl: "${NOT_THERE}"', 'publicUrl', /environment variable NOT_THERE is not set/],
  ['include: [gone.yaml]', '', /cannot be read/],
  ['include: [gateway.yaml]', 'include[0]', /includes itself/],
  ['unmetered: 1', 'unmetered', /true or false/],
  ['accountArea: { listen: { port: 1 }, publicUrl: https://a.example }', 'accountArea.mail', /is needed/],
  [
    'accountArea: { listen: { port: 1 }, publicUrl: http://a.example }',
    'accountArea.publicUrl',
    /must be https/,
  ],
  ['accountArea: { listen: { host: 0.0.0.0, port: 1 } }', 'accountArea.publicUrl', /is needed/],
  [
    'alarms: { email: { to: [a@example.org] } }',
    'alarms.email',
    /needs a mail server: write mail beside to, or accountArea.mail/,
  ],
  ['alarms: { email: { to: [nobody] } }', 'alarms.email.to[0]', /must be an address/],
  [
    'alarms: { webhooks: { pager: { url: http://a.example, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw } } }',
    'alarms.webhooks.pager.url',
    /must be https/,
  ],
  [
    'alarms: { webhooks: { pager: { url: https://a.example, secret: short } } }',
    'alarms.webhooks.pager.secret',
    /must be whsec_ and 24 to 64 random bytes/,
  ],
  [
    'alarms: { webhooks: { pager: { url: https://a.example, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, egress: fi } } }',
    'alarms.webhooks.pager.egress',
    /unknown egress "fi"/,
  ],
  ['alarms: { except: [overun] }', 'alarms.except[0]', /overrun/],
  [
    'accountArea: { listen: { port: 1 }, secret: short }',
    'accountArea.secret',
    /must be 32 characters or more/,
  ],
  [
    'accountArea: { listen: { port: 1 }, mail: { url: http://a.example, from: a@b.c } }',
    'accountArea.mail.url',
    /mail server/,
  ],
  [
    'accountArea: { listen: { port: 1 }, documents: { offer: { version: "1", ru: no.txt, en: no.txt } } }',
    'accountArea.documents.offer.ru',
    /there is no file/,
  ],
  ['egress: { direct: { url: "http://203.0.113.7:3128" } }', 'egress', /way without a proxy/],
  ['egress: { fi: { url: "http://u:p%@203.0.113.7:3128" } }', 'egress.fi.url', /must be a proxy/],
  ['egress: { fi: { url: "http://u:%ff@203.0.113.7:3128" } }', 'egress.fi.url', /must be a proxy/],
  ['egress: { fi: { url: "http://u:a/b@203.0.113.7:3128" } }', 'egress.fi.url', /%2F for \//],
  ['egress: { fi: { url: "http://u%3Av:p@203.0.113.7:3128" } }', 'egress.fi.url', /must be a proxy/],
  ['egress: { fi: { url: "socks5://a%20b.example" } }', 'egress.fi.url', /must be a proxy/],
  ['egress: { fi: { url: "socks4://203.0.113.7" } }', 'egress.fi.url', /must be a proxy/],
  ['egress: { fi: { url: "ftp://u:secret@203.0.113.7:3128" } }', 'egress.fi.url', /must be a proxy/],
  ['workers: 0', 'workers', /from 1 to 1024/],
  ['providers: { openruter: { credentials: [k] } }', 'providers.openruter', /no dialect/, 'openrouter'],
  ['providers: { x: { dialects: { opnai: {} } } }', 'providers.x.dialects.opnai', /unknown key/, 'openai'],
  ['defaultProvider: { opnai: sandbox }', 'defaultProvider.opnai', /unknown key/, 'openai'],
  ['payments: { provider: yokassa }', 'payments.provider', /"yookassa", "sandbox"$/, 'yookassa'],
  ['payments: {}', 'payments.provider', /^is missing \(one of "yookassa", "sandbox"\)$/],
  [
    'workers: 3\nproviders: { openai: { credentials: [k], limits: { connectionsMax: 2 } } }',
    'providers.openai.limits.connectionsMax',
    /at least 3, as many as workers/,
  ],
]

for (const [yaml, path, message, nearest] of cases) {
  await t.test(`${yaml.replaceAll('\n', ' ')} is refused`, async t => {
    const folder = t.testdir({ loop: t.fixture('symlink', 'loop') })
    const problems = problemsOf(folder, { 'gateway.yaml': yaml })

    const found = problems.find(problem => problem.path === path)
    t.match(found?.message, message, problems.map(formatProblem).join('\n'))
    if (nearest !== undefined) t.equal(found?.nearest, nearest)
    t.notMatch(problems.map(problem => problem.message).join(), /secret/, 'no secret is shown')
  })
}

/** Wrong values where several forms are allowed, each with the one problem that it reports. */
const unions: readonly (readonly [yaml: string, expected: string])[] = [
  ['prices: { usdRub: { from: cb } }', 'prices.usdRub.from: must be "cbr"'],
  ['prices: { usdRub: {} }', 'prices.usdRub.from: is missing ("cbr")'],
  ['prices: { usdRub: { form: cbr } }', 'prices.usdRub.form: unknown key; did you mean "from"?'],
  ...['cbr', '90', '"0x"', '[]'].map(
    value =>
      [
        `prices: { usdRub: ${value} }`,
        'prices.usdRub: must be roubles for a dollar in quotes, such as "92.50", or { from: cbr }',
      ] as const,
  ),
  [
    'prices: { usdRub: "0" }',
    'prices.usdRub: must be more than 0 and less than 1000000: roubles for a dollar',
  ],
  ['providers: { sandbox: { usdRub: { from: cb } } }', 'providers.sandbox.usdRub.from: must be "cbr"'],
  ['models: { m: { provider: [sandbox], usdRub: { from: cb } } }', 'models.m.usdRub.from: must be "cbr"'],
  ['models: { m: { provider: [] } }', 'models.m.provider: must have at least 1 item'],
  ['models: { m: { provider: 3 } }', 'models.m.provider: must be a provider or a list of providers'],
  ['models: { m: { provider: [3] } }', 'models.m.provider[0]: must be a text (quote numbers)'],
  [
    'providers: { sandbox: { egress: [3] } }',
    'providers.sandbox.egress[0]: must be direct, the name of an egress, or { name, weight }',
  ],
  [
    'providers: { sandbox: { egress: [{ nam: direct }] } }',
    'providers.sandbox.egress[0].nam: unknown key; did you mean "name"?',
  ],
  ['providers: { sandbox: { egress: [] } }', 'providers.sandbox.egress: must have at least 1 item'],
  [
    'providers: { sandbox: { credentials: [3] } }',
    'providers.sandbox.credentials[0]: must be a key in printable ASCII without spaces, or { value, name, weight, timeouts }',
  ],
  [
    'providers: { sandbox: { credentials: [{ value: k, name: "1" }] } }',
    'providers.sandbox.credentials[0].name: must begin with a letter and have at most 64 letters, digits, dots, dashes and underscores',
  ],
  [
    'providers: { x: { like: openruter, credentials: [] } }',
    'providers.x.like: unknown provider "openruter"; did you mean "openrouter"?',
  ],
  ['plugins: [3]', 'plugins[0]: must be a name, or a name with its options: { size-limit: { ... } }'],
  ['plugins: [{ auth: 3 }]', 'plugins[0].auth: must be a map'],
]

for (const [yaml, expected] of unions) {
  await t.test(`${yaml} reports what is allowed there`, t => {
    const whole = yaml.startsWith('providers') ? yaml : `providers: { sandbox: {} }\n${yaml}`
    const folder = t.testdir()
    const found = problemsOf(folder, { 'gateway.yaml': whole }).map(problem =>
      formatProblem(problem).replace(/^\S+ /, ''),
    )
    // A mistyped key is also reported as missing.
    const others = found.filter(text => text !== expected && !/: is missing \(/.test(text))
    t.ok(found.includes(expected), found.join('\n'))
    t.same(others, [], 'no other problem is reported')
    t.end()
  })
}

const pricedCases: readonly (readonly [price: string, path: string, message: RegExp, nearest?: string])[] = [
  ['rubPerMillion: { input: 300 }', 'rubPerMillion.input', /in quotes/],
  ['rubPerMillion: { input: "-1" }', 'rubPerMillion.input', /not negative/],
  ['rubPerMillion: { input: "1e3" }', 'rubPerMillion.input', /decimal/],
  ['rubPerMillion: { inptu: "1" }', 'rubPerMillion.inptu', /unknown key/, 'input'],
  ['rubPerUnit: { image/x: "1" }', 'rubPerUnit["image/x"]', /unknown meter/, 'images'],
  ['rubPerMillion: { images: "1" }, rubPerUnit: { images/x: "1" }', 'rubPerUnit["images/x"]', /priced twice/],
  ['rubPerUnit: { images//x: "1" }', 'rubPerUnit["images//x"]', /empty parts/],
  ['factors: { bacth: "0.5" }', 'factors.bacth', /unknown key/, 'batch'],
  ['above: [{ inputTokens: 5, mode: hole, rubPerMillion: {} }]', 'above[0].mode', /one of/, 'whole'],
  [
    'above: [{ inputTokens: 5, mode: whole, rubPerMillion: { output: "1" } }]',
    'above[0].rubPerMillion.output',
    /no base price/,
  ],
  [
    'rubPerMillion: { input: "1" }, above: [{ inputTokens: 5, mode: whole, rubPerMillion: { input: "2" } }, { inputTokens: 5, mode: whole, rubPerMillion: { input: "3" } }]',
    'above[1].inputTokens',
    /overlap/,
  ],
  ['prices: [{ from: 2026-13-01 }]', 'prices[0].from', /date/],
  ['prices: [{ from: 2026-01-01 }, { from: 2026-01-01 }]', 'prices[1]', /two prices from 2026-01-01/],
  [
    'rubPerMillion: { input: "1" }, prices: [{ rubPerMillion: { input: "2" } }]',
    'prices[0]',
    /two prices without a date/,
  ],
  ['outputTokensMax: -1', 'outputTokensMax', /whole number/],
]

for (const [price, path, message, nearest] of pricedCases) {
  await t.test(`a price with ${price} is refused`, async t => {
    const yaml = `providers: { sandbox: {} }\nmodels: { m: { provider: sandbox, ${price} } }`
    const problems = problemsOf(t.testdir(), { 'gateway.yaml': yaml })

    const found = problems.find(problem => problem.path === `models.m.${path}`)
    t.match(found?.message, message, problems.map(formatProblem).join('\n'))
    if (nearest !== undefined) t.equal(found?.nearest, nearest)
  })
}

await t.test('all problems are reported at once, each with its file, line and column', async t => {
  const folder = t.testdir()
  const problems = problemsOf(folder, {
    'gateway.yaml': 'include: [models.yaml]\nlitsen: 1\nproviders: { sandbox: {} }\n',
    'models.yaml': 'models:\n  m: { provider: sandbox, outputTokenMax: 3 }\n  n: { provider: nobody }\n',
  })

  t.same(
    problems
      .map(({ file, path, line, column }) => ({ file, path, line, column }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
    [
      { file: join(folder, 'gateway.yaml'), path: 'litsen', line: 2, column: 1 },
      { file: join(folder, 'models.yaml'), path: 'models.m.outputTokenMax', line: 2, column: 27 },
      { file: join(folder, 'models.yaml'), path: 'models.n.provider', line: 3, column: 8 },
    ],
  )
  const [first] = problems
  t.ok(first)
  if (first !== undefined) {
    t.equal(formatProblem(first), `${folder}/gateway.yaml:2:1 litsen: unknown key; did you mean "listen"?`)
  }
})

await t.test('YAML that is broken, ambiguous or a bomb is refused', async t => {
  t.match(problemsOf(t.testdir(), { 'gateway.yaml': 'workers: 1\nworkers: 2\n' }), [
    { message: /workers stands twice in one map/, line: 2, column: 1 },
  ])
  t.match(problemsOf(t.testdir(), { 'gateway.yaml': 'plugins: [auth' }), [{ line: 1 }])
  t.match(problemsOf(t.testdir(), { 'gateway.yaml': '- a\n- b\n' }), [{ message: /map of settings/ }])
  t.match(problemsOf(t.testdir(), { 'gateway.yaml': 'store: !!js/function "x"\n' }), [{ message: /tag/i }])
  const levels = Array.from({ length: 12 }, (_, level) =>
    level === 0
      ? 'a0: &a0 [x, x]'
      : `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
  )
  t.match(problemsOf(t.testdir(), { 'gateway.yaml': levels.join('\n') }), [{ message: /alias/i }])
})

await t.test('an egress for a local plain-HTTP provider, or named twice, is refused', async t => {
  const problems = problemsOf(t.testdir(), {
    'gateway.yaml': `
egress: { fi-1: { url: "http://203.0.113.7:3128" } }
providers:
  local: { credentials: [], egress: [fi-1], dialects: { openai: { baseUrl: "http://127.0.0.1:8000/v1" } } }
  other: { credentials: [k], egress: [fi-1, fi-1], dialects: { openai: { baseUrl: "https://a.example/v1" } } }
`,
  })
  t.match(problems, [
    { path: 'providers.local.egress[0]', message: /on this machine/ },
    { path: 'providers.other.egress[1]', message: /twice/ },
  ])
})

await t.test('with egress proxies, every enabled provider must name its own', async t => {
  const problems = problemsOf(
    t.testdir(),
    {
      'gateway.yaml': `
egress: { fi-1: { url: "http://203.0.113.7:3128" } }
providers:
  sandbox: { egress: [fi-2] }
  openai: { credentials: ["\${OPENAI}"] }
  mistral: { credentials: ["\${MISTRAL}"] }
`,
    },
    { env: { OPENAI: 'sk' } },
  )

  t.same(
    problems.map(({ path, nearest }) => ({ path, nearest })),
    [
      { path: 'providers.sandbox.egress[0]', nearest: 'fi-1' },
      { path: 'providers.openai.egress', nearest: undefined },
    ],
    'mistral is disabled, so it sends no requests',
  )
})
