import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { runGateway, runHere, writeConfig } from './run-gateway.ts'

const root = join(import.meta.dirname, '../..')

const wrongUsage: readonly (readonly [words: string[], message: RegExp])[] = [
  [[], /Usage: gateway/],
  [['account'], /Usage: gateway account/],
  [['chekc'], /unknown command 'chekc'\n\(Did you mean check\?\)/],
  [['check', '--colour'], /unknown option '--colour'/],
  [['serve', '--json'], /unknown option '--json'/],
  [['check', 'extra'], /too many arguments/],
  [['balance'], /required option '--account <id>'/],
  [['account', 'credit', '--rub', '1', '--reason', 'r'], /missing required argument 'account'/],
  [['account', 'credit', 'x', '--rub', '1e3', '--reason', 'r'], /--rub: "1e3" is not an amount/],
  [['account', 'credit', 'x', '--rub', '-1', '--reason', 'r'], /--rub/],
  [['account', 'credit', 'x', '--rub', '0.0000001', '--reason', 'r'], /--rub: .* more than the 6 decimals/],
  [
    ['account', 'credit', 'x', '--rub', '9'.repeat(14), '--reason', 'r'],
    /--rub: "9{14}" is more than the largest amount, 1000000000/,
  ],
  [['top', '--days', '99999999999'], /--days: "99999999999" is not a whole number from 1 to 36500/],
  [['payment', 'reconcile', '--days', '-1'], /--days: "-1" is not a whole number from 1 to 1095/],
  [
    ['charges', '--since', '2026-02-01', '--until', '2026-02-01'],
    /--until: 2026-02-01 is not after --since 2026-02-01/,
  ],
  [['documents', 'list', '--month', '2026-13'], /--month: "2026-13" is not a month such as 2026-11/],
  [['key', 'create', '--account', 'x', '--expires', 'tomorrow'], /--expires: "tomorrow" is not a date/],
  [['key', 'create', '--account', 'x', '--expires', '2001-01-01'], /--expires: 2001-01-01 is in the past/],
  [['key', 'create', '--account', 'x', '--budget-period', 'day'], /needs --budget-rub/],
  [['key', 'create', '--account', 'x', '--budget-rub', '1', '--budget-period', 'year'], /none of total, day/],
  [['key', 'create', '--account', 'x', '--models', ' , '], /--models: names nothing/],
  [['key', 'create', '--account', 'x', '--models', 'a*,gpt*5'], /"gpt\*5" has a \* that is not at the end/],
  [['key', 'create', '--account', 'x', '--ips', '10.0.0.1,here'], /"here" is neither an IP address/],
]

await t.test('wrong usage exits 2, says what is wrong and prints no result', async t => {
  for (const [words, message] of wrongUsage) {
    t.match(await runHere(words), { code: 2, stdout: '', stderr: message }, words.join(' '))
  }
  t.match(await runGateway(['chekc']), { code: 2, stdout: '', stderr: /Did you mean check/ })
})

await t.test('an object that is not found is reported with the command that lists it', async t => {
  const { config } = writeConfig(t.testdir())
  await runHere(['account', 'create', '--email', 'a@b.ru', '--config', config])

  for (const [words, listing] of [
    [['account', 'credit', 'x', '--rub', '5'], 'there is no account x: gateway account list shows them all'],
    [['account', 'block', 'x'], 'there is no account x: gateway account list shows them all'],
    [['key', 'create', '--account', 'x'], 'there is no account x: gateway account list shows them all'],
    [['key', 'edit', 'x', '--budget-rub', '5'], 'there is no key x: gateway key list --all shows them'],
    [['key', 'revoke', 'x'], 'there is no key x: gateway key list --all shows them'],
    [['alarms', 'close', 'x'], 'there is no alarm x: gateway alarms --all lists them'],
    [
      ['operator', 'remove', '--email', 'a@b.ru'],
      'there is no operator a@b.ru: gateway operator list shows them',
    ],
  ] as const) {
    const reason = ['credit', 'block', 'edit', 'close'].includes(words[1]) ? ['--reason', 'r'] : []
    const { code, stderr } = await runHere([...words, ...reason, '--config', config])
    t.equal(code, 1, stderr)
    t.equal(stderr, `gateway: ${listing}\n`)
  }
})

await t.test('a mistake in a file is reported with what to do', async t => {
  const folder = t.testdir({ 'bad.json': '{bad' })
  const { config } = writeConfig(folder)
  const file = (name: string) => join(folder, name)
  const { stdout } = await runHere(['account', 'create', '--email', 'a@b.ru', '--json', '--config', config])
  const { id } = JSON.parse(stdout) as { id: string }
  const company = ['account', 'company', id]

  for (const [words, message] of [
    [['account', 'create', '--email', 'a@b.ru'], ': gateway account find EMAIL shows it'],
    [company, `has no company details: set them by gateway account company ${id} --set FILE`],
    [
      [...company, '--set', file('none')],
      'none cannot be read: there is no such file or folder: check the path',
    ],
    [[...company, '--set', folder], 'cannot be read: it is a folder: name a file'],
    [[...company, '--set', file('bad.json')], 'bad.json is no JSON: '],
    [['prices', 'import', '--from', file('none')], 'none cannot be read: there is no such file or folder'],
    [['prices', 'rate', '--accept'], 'no rate is held: gateway prices rate shows those there are'],
    [
      ['account', 'correct', id, '--request', 'r', '--rub', '1', '--reason', 'r'],
      ': gateway charges --account ACCOUNT lists what it was charged for',
    ],
  ] as const) {
    const { code, stderr } = await runHere([...words, '--config', config])
    t.equal(code, 1, stderr)
    t.match(stderr, message)
  }
  writeFileSync(file('below.yaml'), 'providers: { sandbox: {} }\nstore: sqlite:bad.json/g.db\n')
  t.match(await runHere(['account', 'list', '--config', file('below.yaml')]), {
    code: 1,
    stderr: 'g.db cannot be opened: a part of its path is a file: check the path',
  })
  t.match(await runHere(['backup', '/sys/kernel/b.db', '--config', config]), {
    code: 1,
    stderr: 'gateway: /sys/kernel/b.db cannot be written: this user may not',
  })
  const gone = await runHere(['check', '--config', file('gone.yaml')])
  t.match(gone.stdout, 'gone.yaml: cannot be read: there is no such file or folder: check the path')
})

await t.test('help and version are results, and exit 0', async t => {
  const [help, keyHelp, version] = await Promise.all([
    runGateway(['--help']),
    runGateway(['key', 'create', '--help']),
    runGateway(['--version']),
  ])

  for (const command of [
    'serve',
    'check',
    'account',
    'key',
    'balance',
    'charges',
    'models',
    'verify',
    'backup',
  ]) {
    t.match(help.stdout, new RegExp(`^  ${command} `, 'm'))
  }
  t.match(help, { code: 0, stderr: '' })
  t.match(keyHelp, { code: 0, stdout: /--budget-rub/ })
  t.match(version, { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
})

await t.test('check says that a configuration is in order', async t => {
  const [text, json] = await Promise.all([
    runGateway(['check', '--config', 'config/gateway.yaml'], { cwd: root }),
    runGateway(['check', '--json'], { cwd: root }),
  ])

  t.match(text, { code: 0, stderr: '', stdout: /gateway\.yaml is in order\n  providers  1 on, 17 off\n/ })
  t.match(JSON.parse(json.stdout), { ok: true, file: join(root, 'config/gateway.yaml') })
})

await t.test(
  'check names the models without a price or half of one, and finds nothing wrong with them',
  async t => {
    const folder = t.testdir({
      'more.yaml': `providers: { elsewhere: { credentials: ["\${NOT_SET}"], dialects: { openai: { baseUrl: http://localhost } } } }
models:
  unpriced: { provider: sandbox }
  "unpriced-*": { provider: [elsewhere, sandbox] }
  to-come: { provider: sandbox, prices: [{ from: 2999-01-01, rubPerMillion: { output: "1" } }] }
  empty: { provider: sandbox, rubPerMillion: {} }
  free: { provider: sandbox, rubPerMillion: { input: "0", output: "0" } }
  by-the-piece: { provider: sandbox, rubPerUnit: { images: "1" } }
  piece-and-text: { provider: sandbox, rubPerMillion: { output: "1" }, rubPerUnit: { requests: "1" } }
  half: { provider: sandbox, rubPerMillion: { output: "1" } }
  embeddings: { provider: sandbox, rubPerMillion: { input: "1" } }
  off: { provider: elsewhere }
  alias: { alias: unpriced }
`,
    })
    const check = (more: string, ...words: string[]) => {
      const { config } = writeConfig(folder, `include: [more.yaml]\n${more}`)
      return runHere(['check', '--config', config, ...words])
    }
    const notice =
      'models without a price are refused where they would cost: unpriced, to-come, empty, unpriced-*'

    const half = 'models with a price for output tokens and none for input, which is free then: half'

    const text = await check('')
    t.match(text, { code: 0, stderr: '' })
    t.ok(text.stdout.endsWith(`\n  note       ${notice}\n  note       ${half}\n`), text.stdout)
    const json = await check('', '--json')
    t.match(JSON.parse(json.stdout), { ok: true, notices: [/^providers without a key/, notice, half] })
    t.notMatch(
      (await check('unmetered: true\nplugins: [auth, model-router, upstream-proxy]\n')).stdout,
      /without a price/,
      'where nothing is charged',
    )
    writeFileSync(join(folder, 'more.yaml'), '')
    t.notMatch((await check('')).stdout, /without a price/)
    const many = Array.from({ length: 23 }, (_, index) => `  m${index}: { provider: sandbox }\n`)
    writeFileSync(join(folder, 'more.yaml'), `models:\n${many.join('')}`)
    t.match((await check('')).stdout, /cost: m0, m1, .*, m19 and 3 more\n$/)
  },
)

await t.test('check names example prices, and names that are sold for less than their model', async t => {
  const folder = t.testdir({
    'list.json': JSON.stringify({
      models: {
        m: { provider: 'sandbox', usdPerMillion: { input: '1', cachedInput: '0.1', output: '2' } },
        'm-20*': { provider: 'sandbox', usdPerMillion: { input: '1', cachedInput: '0.1', output: '2' } },
        'm-mini': { provider: 'sandbox', usdPerMillion: { input: '0.1', output: '0.2' } },
        n: { provider: 'sandbox', usdPerMillion: { input: '5', output: '6' } },
        'n-2026-01-31': { provider: 'sandbox', usdPerMillion: { input: '1', output: '6' } },
        o: {
          provider: 'sandbox',
          usdPerMillion: { input: '1', cachedInput: '0.1', audioInput: '2', output: '2' },
        },
      },
    }),
    'own.yaml': `models:
  m: { coefficient: "1.35" }
  n: { rubPerMillion: { output: "700" } }
  o: { usdPerMillion: { input: "3" } }
`,
  })
  const check = async (prices: string): Promise<readonly string[]> => {
    const { config } = writeConfig(folder, `include: [list.json, own.yaml]\nprices: { ${prices} }\n`)
    const { stdout } = await runHere(['check', '--config', config, '--json'])
    return (JSON.parse(stdout) as { notices: string[] }).notices
  }
  const example =
    'models priced by the example rate of 100 roubles for a dollar; set prices.usdRub: m, m-mini, n-2026-01-31, o, m-20*'
  const others = [
    'models with a price for output tokens and none for input, which is free then: n',
    '"m-20*" is sold for less than its model "m" (cachedInput 10 instead of 13.5, input 100 instead of 135, ' +
      'output 200 instead of 270): write like: m to sell it at the same price',
    '"n-2026-01-31" is sold for less than its model "n" (output 600 instead of 700): write like: n to sell it at the same price',
    `the price of "o" has meters from ${join(folder, 'list.json')} that your file does not set: cachedInput, audioInput, output`,
    'the price of "n" in roubles lacks meters of its list price, which are then not charged: input',
  ]

  t.same(new Set(await check('coefficient: "1"')), new Set([example, ...others]))
  t.notMatch((await check('usdRub: "92.50"')).join(), 'example rate')
  const byFeed = await check('usdRub: { from: cbr }')
  t.notMatch(byFeed.join(), /example rate|without a price/, 'neither store nor network are asked for a rate')
  t.match(byFeed.join(), others[1])
})

await t.test('check prints every bad value with its place and the nearest name, and exits 1', async t => {
  const { config } = writeConfig(t.testdir(), 'litsen: 1\nlimits: { bodyMs: none }\n')
  const text = await runGateway(['check', '--config', config])
  const json = await runHere(['check', '--config', config, '--json'])

  t.match(text, { code: 1, stderr: `gateway: 2 problems in ${config}\n` })
  t.match(text.stdout, `${config}:5:1 litsen: unknown key; did you mean "listen"?\n`)
  t.match(text.stdout, `${config}:6:11 limits.bodyMs: must be a whole number`)
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), {
    ok: false,
    problems: [
      { file: config, path: 'litsen', nearest: 'listen', line: 5, column: 1 },
      { path: 'limits.bodyMs' },
    ],
  })
})

const pipelines: readonly (readonly [what: string, yaml: string, message: RegExp])[] = [
  ['a wrong order', '[model-router, auth, upstream-proxy, usage-tap]', /list "auth" before it/],
  ['no plugin that forwards', '[auth, model-router, usage-tap]', /Enable "upstream-proxy"/],
  ['no plugin that charges', '[auth, model-router, upstream-proxy]', /Without the plugin "usage-tap"/],
  [
    'a wrong option',
    '[auth, model-router, { rate-limit: { requestsPerMinut: 1, tokensPerMinute: 9 } }, upstream-proxy, usage-tap]',
    /plugins\[2\]\.rate-limit\.requestsPerMinut: unknown key; did you mean "requestsPerMinute"/,
  ],
]

for (const [what, yaml, message] of pipelines) {
  await t.test(`check and serve both refuse ${what} in the pipeline`, async t => {
    const { config } = writeConfig(join(t.testdir(), 'one'), `plugins: ${yaml}\n`)
    const [checked, served] = await Promise.all([
      runHere(['check', '--config', config]),
      runGateway(['serve', '--config', config]),
    ])

    t.match(checked, { code: 1, stdout: message, stderr: `gateway: 1 problem in ${config}\n` })
    t.match(served, { code: 1, stderr: message })
    const other = writeConfig(join(t.testdirName, 'two'), `plugins: ${yaml}\n`)
    t.match(await runHere(['check', '--config', other.config]), { code: 1 })
    t.notOk(existsSync(other.store), 'check opens no store')
  })
}

await t.test('other commands report mistakes in the configuration too', async t => {
  const folder = t.testdir({ 'loop.yaml': t.fixture('symlink', 'loop.yaml') })
  const { config } = writeConfig(folder, 'litsen: 1\n')
  const hidden = await runHere(['models', '--config', join(folder, 'loop.yaml')])
  t.match(hidden, { code: 1, stdout: '', stderr: /loop\.yaml: cannot be read: ELOOP/ })
  const [wrong, gone] = await Promise.all([
    runGateway(['serve', '--config', config]),
    runHere(['models', '--config', join(folder, 'none.yaml')]),
  ])

  t.match(wrong, { code: 1, stdout: '', stderr: /configuration is wrong:\n.*litsen: unknown key/ })
  t.match(gone, {
    code: 1,
    stdout: '',
    stderr: /there is no configuration at .*none\.yaml: name one with --config/,
  })
})

await t.test(
  "the configuration is the named one, else the environment's, else the one here, else the shipped one",
  async t => {
    const folder = t.testdir()
    const here = writeConfig(join(folder, 'here/config')).config
    const env = { GATEWAY_CONFIG: writeConfig(join(folder, 'env')).config }
    const named = writeConfig(join(folder, 'named')).config
    const cwd = join(folder, 'here')
    const fileOf = async (words: string[], options: { cwd: string; env?: Record<string, string> }) =>
      (JSON.parse((await runGateway(['check', '--json', ...words], options)).stdout) as { file: string }).file

    t.same(
      await Promise.all([
        fileOf(['--config', named], { cwd, env }),
        fileOf([], { cwd, env }),
        fileOf([], { cwd }),
        fileOf([], { cwd: folder }),
      ]),
      [named, env.GATEWAY_CONFIG, here, join(root, 'config/gateway.yaml')],
    )
  },
)

await t.test('models lists available models with prices; --all also those that are off', async t => {
  const folder = t.testdir()
  const config = join(folder, 'gateway.yaml')
  writeFileSync(
    config,
    `providers: { sandbox: {}, openai: { credentials: ["\${NO_KEY}"] } }
models:
  sandbox-chat: { provider: sandbox, rubPerMillion: { input: "100", output: "400" } }
  quick: { alias: sandbox-chat }
  gpt-5: { provider: openai, rubPerMillion: { input: "125" }, rubPerUnit: { searches: "1" } }
`,
  )
  const run = (...words: string[]) => runHere(['models', ...words, '--config', config])
  const [text, all, json] = await Promise.all([run(), run('--all'), run('--json')])

  t.match(text.stdout, /sandbox-chat +sandbox +100 +400/)
  t.notMatch(text.stdout, 'gpt-5')
  t.match(
    text.stdout,
    /\nRoubles per million tokens, other prices per unit\.\n$/,
    'no footnote without a star',
  )
  t.match(all.stdout, /gpt-5 +openai +125 .*searches 1/)
  t.match(JSON.parse(json.stdout), {
    model: 'sandbox-chat',
    aliases: ['quick'],
    providers: ['sandbox'],
    isOn: true,
    rubPerMillion: { input: '100', output: '400' },
  })
})

await t.test(
  'models lists tiers, factors and versions of a price, by the hash that charges name',
  async t => {
    const folder = t.testdir()
    const config = join(folder, 'gateway.yaml')
    writeFileSync(
      config,
      `providers: { sandbox: {} }
models:
  long:
    provider: sandbox
    rubPerMillion: { input: "100", output: "400" }
    above: [{ inputTokens: 200000, mode: whole, rubPerMillion: { input: "200" } }]
    factors: { batch: "0.5" }
    prices: [{ from: "2999-01-01", rubPerMillion: { input: "90", output: "300" } }]
`,
    )
    const run = (...words: string[]) => runHere(['models', ...words, '--config', config])
    const [text, json] = await Promise.all([run(), run('--json')])
    const [now, later] = loadConfig(config).config.models.get('long')?.prices ?? []

    t.match(text.stdout, /long .* costs more above 200000 tokens\*, batch x0\.5, changes 2999-01-01\*\n/)
    t.match(text.stdout, /\n\* --json shows this in full\.\n$/)
    t.match(JSON.parse(json.stdout), {
      priceHash: now?.hash,
      above: [{ inputTokens: 200_000, rubPerMillion: { input: '200' } }],
      factors: { batch: '0.5' },
      prices: [
        { hash: now?.hash, from: null, above: [{ inputTokens: 200_000 }], factors: { batch: '0.5' } },
        { hash: later?.hash, from: '2999-01-01', rubPerMillion: { input: '90', output: '300' }, above: [] },
      ],
    })
    t.match(later?.hash, /^[\w-]{43}$/)
  },
)
