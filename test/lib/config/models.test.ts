import fc from 'fast-check'
import t from 'tap'
import { ModelDirectory } from '../../../lib/models/model-directory.ts'
import { loadFiles, problemsOf } from './config-files.ts'
import { matchesPattern } from '../../../lib/config/config.ts'

const sandbox = 'providers: { sandbox: {} }\n'

await t.test('versions of a price are ordered by their dates, the one without a date first', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${sandbox}models:
  m:
    provider: sandbox
    prices:
      - { from: 2026-03-01, rubPerMillion: { input: "3" } }
      - { from: 2026-01-01, rubPerMillion: { input: "2" } }
    rubPerMillion: { input: "1" }
`,
  })

  t.same(
    config.models.get('m')?.prices.map(price => [price.from, price.rubPerMillion.input]),
    [
      [undefined, '1'],
      ['2026-01-01', '2'],
      ['2026-03-01', '3'],
    ],
  )
})

await t.test('the hash of a price depends on its values, not on their order', async t => {
  const hashOf = (price: string): string | undefined =>
    loadFiles(t.testdir(), {
      'gateway.yaml': `${sandbox}models: { m: { provider: sandbox, ${price} } }`,
    }).config.models.get('m')?.prices[0]?.hash

  const one = hashOf('rubPerMillion: { input: "1", output: "2" }, factors: { batch: "0.5" }')
  t.match(one, /^[\w-]{43}$/)
  t.equal(hashOf('factors: { batch: "0.5" }, rubPerMillion: { output: "2", input: "1" }'), one)
  t.not(hashOf('rubPerMillion: { input: "1", output: "2.1" }, factors: { batch: "0.5" }'), one)
})

await t.test('an overlay changes one price of a model and leaves the rest', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `include: [base.yaml]\nmodels: { m: { rubPerMillion: { input: "9" } } }`,
    'base.yaml': `${sandbox}models: { m: { provider: sandbox, rubPerMillion: { input: "1", output: "2" } } }`,
  })

  t.same(config.models.get('m')?.prices[0]?.rubPerMillion, { input: '9', output: '2' })
})

await t.test('chains of aliases resolve to a model, or to a name that a pattern covers', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${sandbox}models:
  m: { provider: sandbox }
  "p-*": { provider: sandbox }
  one: { alias: two }
  two: { alias: m }
  three: { alias: p-5 }
`,
  })

  t.same(Object.fromEntries(config.aliases), { one: 'm', two: 'm', three: 'p-5' })
  t.notOk(config.models.has('one'))
})

await t.test('the most specific pattern comes first', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${sandbox}models: { "gpt-*": { provider: sandbox }, "*": { provider: sandbox }, "gpt-5-mini-*": { provider: sandbox } }`,
  })

  t.same(
    config.modelPatterns.map(model => model.name),
    ['gpt-5-mini-*', 'gpt-*', '*'],
  )
})

await t.test('a pattern matches the same names as the regular expression with the same meaning', async t => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 8 })
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '-', '*'), maxLength: 6 })

  fc.assert(
    fc.property(pattern, word, (pattern, name) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`)
      return matchesPattern(pattern, name) === expression.test(name)
    }),
    { numRuns: 2000 },
  )
  t.equal(matchesPattern('gpt-*-mini', 'gpt-mini'), false, 'the parts do not overlap')
  t.pass()
})

await t.test('limits, modalities and capabilities of a pattern apply to its names', async t => {
  const facts =
    'contextTokensMax: 400000, outputTokensMax: 128000, modalities: { input: [text, image], output: [text] }, capabilities: [tools]'
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${sandbox}models: { "m-20*": { provider: sandbox, names: [m-2026-01-31], ${facts} } }`,
  })

  const found = new ModelDirectory(config).resolve('m-2026-01-31', undefined)

  t.equal(found?.entry.contextTokensMax, 400_000)
  t.match(found?.entry, {
    outputTokensMax: 128_000,
    names: ['m-2026-01-31'],
    modalities: { input: ['text', 'image'], output: ['text'] },
    capabilities: ['tools'],
  })
})

await t.test('a known name that no pattern of its entry covers is refused', async t => {
  t.match(
    problemsOf(t.testdir(), {
      'gateway.yaml': `${sandbox}models: { m: { provider: sandbox, names: [m-1] } }`,
    }),
    [{ path: 'models.m.names[0]', message: 'must be a name that a pattern here covers' }],
  )
})

await t.test('a list price in dollars is charged at the rate unless there is one in roubles', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${sandbox}prices: { usdRub: "92.50" }
models:
  dollars:
    provider: sandbox
    usdPerMillion: { input: "0.15", output: "0.6" }
    usdPerUnit: { searches: "0.01" }
    above: [{ inputTokens: 1000, mode: whole, usdPerMillion: { input: "0.3" } }]
    factors: { batch: "0.5" }
    prices: [{ from: 2027-01-01, usdPerMillion: { input: "0.2", output: "0.8" } }]
  both:
    provider: sandbox
    usdPerMillion: { input: "0.15", cachedInput: "0.02", output: "0.6" }
    above: [{ inputTokens: 1000, mode: whole, usdPerMillion: { input: "0.3" } }]
    rubPerMillion: { input: "20", output: "80" }
`,
  })

  t.match(config.models.get('dollars')?.prices, [
    {
      rubPerMillion: { input: '13.875', output: '55.5' },
      rubPerUnit: { searches: '0.925' },
      above: [{ inputTokens: 1000, rubPerMillion: { input: '27.75' } }],
      factors: { batch: '0.5' },
    },
    { from: '2027-01-01', rubPerMillion: { input: '18.5', output: '74' } },
  ])
  t.equal(config.models.get('both')?.prices.length, 1)
  t.same(config.models.get('both')?.prices[0]?.rubPerMillion, { input: '20', output: '80' })
  t.same(
    config.models.get('both')?.prices[0]?.above,
    [],
    'a threshold in dollars is no part of a price in roubles',
  )
})

await t.test('null takes a model and its aliases off sale, even if a wider pattern covers it', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `include: [base.yaml]\nmodels: { gpt-4: null, "gpt-3*": null }`,
    'base.yaml': `${sandbox}models: { gpt-4: { provider: sandbox }, gpt-4-0613: { alias: gpt-4 }, "gpt-3*": { provider: sandbox }, "*": { provider: sandbox } }`,
  })

  const directory = new ModelDirectory(config)

  t.equal(directory.resolve('gpt-4', undefined), undefined)
  t.equal(directory.resolve('gpt-3.5-turbo', undefined), undefined)
  t.equal(config.aliases.has('gpt-4-0613'), false)
  t.equal(directory.resolve('gpt-5', undefined)?.entry.name, '*')
})
