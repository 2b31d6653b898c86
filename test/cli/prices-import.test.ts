import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { priceListFormats } from '../fixtures/price-lists.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { runHere } from './run-gateway.ts'

const shipped = join(import.meta.dirname, '../../config/gateway.yaml')

/** A config with the shipped models included; returns a function that runs `prices import` on it. */
function setUp(t: Test, more = '', providers = 'providers: { openai: { credentials: [sk-1] } }') {
  const folder = t.testdir()
  const file = join(folder, 'gateway.yaml')
  const text = `# Mine.\ninclude:\n  - ${JSON.stringify(shipped)} # as shipped\n\nstore: sqlite:g.db\n${providers}\n${more}`
  writeFileSync(file, text)
  const write = (list: string): string => {
    writeFileSync(join(folder, 'list.json'), list)
    return join(folder, 'list.json')
  }
  return {
    folder,
    file,
    text,
    run: (list: string, ...words: readonly string[]) =>
      runHere(['prices', 'import', '--from', write(list), '--config', file, ...words]),
    priceOf: async (model: string): Promise<Readonly<Record<string, string>>> => {
      const { stdout } = await runHere(['models', '--json', '--config', file])
      const lines = stdout.trim().split('\n')
      const models = lines.map(
        line => JSON.parse(line) as { model: string; rubPerMillion: Record<string, string> },
      )
      return models.find(one => one.model === model)?.rubPerMillion ?? {}
    },
  }
}

const gpt5 = { input: 1.5, cached: 0.125, output: 10 }

for (const [format, write] of Object.entries(priceListFormats)) {
  await t.test(`a list of ${format} changes the prices that differ, from now on, and once`, async t => {
    const { folder, file, run, priceOf } = setUp(t)

    const { code, stdout, stderr } = await run(write({ 'gpt-5': gpt5 }), '--json')

    t.equal(code, 0, stderr)
    const [change, ...others] = JSON.parse(stdout) as Record<string, string>[]
    t.match(change, { model: 'gpt-5', meter: 'input', unit: 'million', before: '1.25', after: '1.5' })
    t.ok(Math.abs(Date.parse(change?.['from'] ?? '') - Date.now()) < 60_000)
    t.same(others, [])
    t.match(await priceOf('gpt-5'), { input: '150', cachedInput: '12.5', output: '1000' })
    t.match(await priceOf('gpt-5-20*'), { input: '150' }, 'dated names follow')
    const written = readFileSync(join(folder, 'prices.json'), 'utf8')
    t.match(
      written,
      /"\$comment": "List prices, by gateway prices import. The last list: .*list\.json, read on 20/,
    )
    t.match(
      readFileSync(file, 'utf8'),
      /^# Mine\.\ninclude:\n {2}- .* # as shipped\n {2}- "prices.json"\n\nstore/m,
    )
    t.match(await run(write({ 'gpt-5': gpt5 }), '--json'), { code: 0, stdout: '[]\n' })
    t.equal(readFileSync(join(folder, 'prices.json'), 'utf8'), written)
  })
}

const genai = priceListFormats['genai-prices'] ?? (() => '')

await t.test('a price takes effect at its date; before that the old one applies', async t => {
  const { folder, run, priceOf } = setUp(t)
  await run(genai({ 'gpt-5': gpt5 }), '--at', '2026-01-01')
  await run(genai({ 'gpt-5': { ...gpt5, input: 2 } }), '--at', '2999-01-01T00:00:00+03:00')

  const { models } = JSON.parse(readFileSync(join(folder, 'prices.json'), 'utf8')) as {
    models: Record<string, { prices: { from: string; usdPerMillion: { input: string } }[] }>
  }
  t.same(
    models['gpt-5']?.prices.map(({ from, usdPerMillion: { input } }) => [from, input]),
    [
      ['2025-12-31T21:00:00Z', '1.5'],
      ['2998-12-31T21:00:00Z', '2'],
    ],
    'the dates are midnight in the configured zone',
  )
  t.match(await priceOf('gpt-5'), { input: '150' })
  const { stdout } = await runHere(['check', '--config', join(folder, 'gateway.yaml')])
  t.match(stdout, /is in order/)
})

await t.test('prices set by the operator, and models missing from the list, stay and are named', async t => {
  const { run, priceOf } = setUp(
    t,
    'models: { gpt-5: { usdPerMillion: { input: "3", output: "4" } }, o3: { coefficient: "2" } }\n',
  )

  const { stdout, stderr } = await run(
    genai({ 'gpt-5': gpt5, o3: { input: 3, cached: 0.5, output: 8 } }),
    '--json',
  )

  t.match(JSON.parse(stdout), [{ model: 'o3', meter: 'input', before: '2', after: '3' }])
  t.equal((JSON.parse(stdout) as unknown[]).length, 1)
  t.match(stderr, /left as your files set them: gpt-5$/m)
  t.match(stderr, /not in the list, and left as they are: .* more$/m)
  t.match(await priceOf('o3'), { input: '600', output: '1600' }, 'with its coefficient')
  t.match(await priceOf('gpt-5'), { input: '300', output: '400' })
})

await t.test('nothing is written with --dry-run, or when the user declines', async t => {
  const { folder, file, text, run } = setUp(t)
  const before = readdirSync(folder)

  t.match(await run(genai({ 'gpt-5': gpt5 }), '--dry-run'), {
    code: 0,
    stdout: /gpt-5 +input +1\.25 +1\.5 +20\.00 %/,
  })

  t.same(
    readdirSync(folder).filter(name => name !== 'list.json'),
    before,
  )
  t.equal(readFileSync(file, 'utf8'), text)
})

await t.test('a new file of prices is as readable as the config, whatever the umask', async t => {
  const { folder, file, run } = setUp(t)
  const [uid, gid] = process.getuid?.() === 0 ? [1234, 1235] : [statSync(file).uid, statSync(file).gid]
  chownSync(file, uid, gid)
  chmodSync(file, 0o660)

  t.match(await run(genai({ 'gpt-5': gpt5 })), { code: 0 })

  for (const name of ['gateway.yaml', 'prices.json']) {
    const { mode, ...owner } = statSync(join(folder, name))
    t.match({ ...owner, mode: mode & 0o777 }, { uid, gid, mode: 0o660 }, name)
  }
})

await t.test('if one of the files cannot be written, none is, and the error names a remedy', async t => {
  const { folder, file, text, run } = setUp(t)
  const inTheWay = `gateway.yaml.${process.pid}.new`
  mkdirSync(join(folder, inTheWay))

  const { code, stderr } = await run(genai({ 'gpt-5': gpt5 }))

  t.equal(code, 1)
  t.match(stderr, `${file} cannot be written, and nothing was changed: EEXIST`)
  t.match(stderr, `Run the command as a user who may write in ${folder}`)
  t.equal(readFileSync(file, 'utf8'), text)
  t.same(readdirSync(folder).toSorted(), ['gateway.yaml', inTheWay, 'list.json'])
})

await t.test('the config keeps its mode, and a link to it stays a link', async t => {
  const { folder, file, text, run } = setUp(t)
  const real = join(folder, 'real.yaml')
  renameSync(file, real)
  chmodSync(real, 0o600)
  symlinkSync(real, file)

  t.match(await run(genai({ 'gpt-5': gpt5 })), { code: 0 })

  t.ok(lstatSync(file).isSymbolicLink())
  t.equal(statSync(real).mode & 0o777, 0o600)
  t.not(readFileSync(real, 'utf8'), text)
})

const refusals: readonly (readonly [string, string, RegExp])[] = [
  [
    'a negative price',
    genai({ 'gpt-5': { ...gpt5, input: -1.5 } }),
    /gpt-5 has a negative price for input: -1\.5/,
  ],
  ['no price for input', genai({ 'gpt-5': { output: 10 } }), /gpt-5 has no price for input there/],
  [
    'a thousandfold price',
    genai({ 'gpt-5': { ...gpt5, output: 10_000 } }),
    /gpt-5 would cost 10000 dollars for output instead of 10; .* --accept gpt-5/,
  ],
  [
    'a thousandth',
    genai({ 'gpt-5': { ...gpt5, output: 0.01 } }),
    /would cost 0\.01 dollars for output instead of 10/,
  ],
  ['a price of zero', genai({ 'gpt-5': { ...gpt5, output: 0 } }), /would cost 0 dollars for output/],
  [
    'a price that is a string',
    genai({ 'gpt-5': { ...gpt5, output: 'ten' } }),
    /has a price of gpt-5 that cannot be read/,
  ],
  [
    'a string in LiteLLM',
    priceListFormats['LiteLLM']?.({ 'gpt-5': { input: 'x', output: 1 } }) ?? '',
    /has a input_cost_per_token of gpt-5 that is no number: "x"/,
  ],
  ['half a file', genai({ 'gpt-5': gpt5 }).slice(0, 90), /is no JSON: /],
  ['another JSON', '{"models":[]}', /is no price list that is known/],
  ['an empty list', '[]', /is no price list that is known/],
  ['nothing', '', /is no JSON/],
]
for (const [what, list, reason] of refusals) {
  await t.test(`a list with ${what} is refused in one line, and nothing is written`, async t => {
    const { folder, file, text, run } = setUp(t)

    const { code, stdout, stderr } = await run(list, '--json')

    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, reason)
    t.match(stderr, /^gateway: .*list\.json [^\n]*\n$/, 'one line')
    t.same(readdirSync(folder).toSorted(), ['gateway.yaml', 'list.json'])
    t.equal(readFileSync(file, 'utf8'), text)
  })
}

await t.test(
  'a list is refused as a whole even if its provider is off, and accepted if the model is named',
  async t => {
    for (const [wrong, reason] of [
      [{ ...gpt5, input: -1.5 }, /gpt-5 has a negative price for input/],
      [{ output: 10 }, /gpt-5 has no price for input there/],
      [{ ...gpt5, output: 10_000 }, /gpt-5 would cost 10000 dollars/],
    ] as const) {
      const { folder, run } = setUp(t, '', '')
      const good = { input: 0.3, cached: 0.025, output: 2 }

      t.match(await run(genai({ 'gpt-5': wrong, 'gpt-5-mini': good })), {
        code: 1,
        stdout: '',
        stderr: reason,
      })

      t.notOk(readdirSync(folder).includes('prices.json'), 'its valid prices are not taken either')
    }
    const { folder, run } = setUp(t, '', '')
    const list = genai({ 'gpt-5': { ...gpt5, output: 1000 } })
    t.match(await run(list, '--accept', 'gpt-5'), { code: 0 })
    t.match(readFileSync(join(folder, 'prices.json'), 'utf8'), /"output": ?"1000"/)
  },
)

await t.test('a change that is named in --accept is made, however large', async t => {
  const { run, priceOf } = setUp(t)
  t.match(await run(genai({ 'gpt-5': { ...gpt5, output: 1000 } }), '--accept', 'gpt-5'), { code: 0 })
  t.match(await priceOf('gpt-5'), { output: '100000' })
})

await t.test('mistakes in models that are not configured are ignored', async t => {
  const { run } = setUp(t)
  t.match(await run(genai({ 'gpt-5': gpt5, other: { input: -1, output: 'x' } }), '--json'), {
    code: 0,
    stderr: /wrote /,
  })
})

await t.test('a list is read from a URL, over HTTPS or from this machine', async t => {
  const { file } = setUp(t)
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/list.json' ? 200 : 404).end(genai({ 'gpt-5': gpt5 }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (url: string) =>
    runHere(['prices', 'import', '--from', url, '--config', file, '--json', '--dry-run'])

  t.match(await run(`${origin}/list.json`), { code: 0, stdout: /"after":"1.5"/ })
  t.match(await run(`${origin}/no`), {
    code: 1,
    stderr: /\/no cannot be read: .* answered 404; .*--from FILE/,
  })
  t.match(await run('http://example.org/list.json'), { code: 2, stderr: /must be https/ })
})

const [openai] = dialectCalls
if (openai === undefined) throw new Error('there is no dialect')

await t.test('the import shows the effect on the last 30 days, and writes a line to the log', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const models = { 'test-model': { usdPerMillion: { input: '100', output: '200' } } }
  const list = join(t.testdir(), 'shipped.json')
  writeFileSync(
    list,
    JSON.stringify({ models: { 'test-model': { provider: 'openai', ...models['test-model'] } } }),
  )
  const { models: _models, ...config } = callConfig(upstream.origin)
  const gateway = await startTestGateway(t, {
    config: { ...config, include: [list], prices: { usdRub: '90', coefficient: '1.5' } },
  })
  for (let count = 0; count < 3; count++) {
    await send(`${gateway.url}/v1/chat/completions`, {
      headers: ['content-type', 'application/json', 'authorization', `Bearer ${gateway.key}`],
      body: openai.body(false),
    })
  }
  t.equal((await gateway.charges()).length, 3)
  const raised = join(gateway.folder, 'raised.json')
  writeFileSync(raised, genai({ 'test-model': { input: 110, output: 200 } }))

  const done = await runHere(['prices', 'import', '--from', raised, '--json', '--config', gateway.configFile])

  // 12 tokens in and 34 out, three times, at 135 roubles for a dollar.
  const [change] = JSON.parse(done.stdout) as object[]
  t.match(change, { last30Days: { before: '3.240000', after: '3.288600' } }, done.stderr)
  t.match(
    done.stderr,
    /the running gateway did not apply its configuration: it reads its configuration at the start only/,
  )
  const { stdout } = await runHere(['operator', 'log', '--json', '--config', gateway.configFile])
  t.match(stdout, /"action":"import-prices".*genai-prices, .*raised\.json: 1 models/)
  t.same(await gateway.breaches(), [])
})
