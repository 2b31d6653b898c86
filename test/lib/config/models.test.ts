import fc from 'fast-check'
import t from 'tap'
import { matchesPattern } from '../../../lib/config/matches-pattern.ts'
import { loadFiles } from './config-files.ts'

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

await t.test('a price has the same hash however it is written, and another one when it differs', async t => {
  const hashOf = (price: string): string | undefined =>
    loadFiles(t.testdir(), { 'gateway.yaml': `${sandbox}models: { m: { provider: sandbox, ${price} } }` }).config.models.get(
      'm',
    )?.prices[0]?.hash

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

await t.test('aliases lead to a model at once, or to a name that a pattern covers', async t => {
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

await t.test('a pattern covers what a regular expression of it covers', async t => {
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
