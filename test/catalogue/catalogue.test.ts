import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildCatalogue } from '../../catalogue/build-catalogue.ts'
import { formatCatalogue } from '../../catalogue/format-catalogue.ts'
import { readOwnData } from '../../catalogue/own-data.ts'
import { loadConfig } from '../../lib/config/load-config.ts'
import { cheaperNames } from '../../lib/models/cheaper-names.ts'
import { ModelDirectory } from '../../lib/models/model-directory.ts'
import { priceInForce } from '../../lib/money/price.ts'

const folder = join(import.meta.dirname, '../../config')
const { config } = loadConfig(join(folder, 'gateway.yaml'), { env: {} })
const directory = new ModelDirectory(config)

await t.test('the shipped catalogue equals the output of npm run catalogue', async t => {
  const made = formatCatalogue(buildCatalogue(readOwnData()))

  t.ok(made === readFileSync(join(folder, 'catalogue.json'), 'utf8'), 'run npm run catalogue')
})

await t.test('shipped models and patterns have a context window no smaller than their output', async t => {
  const models = [...config.models.values(), ...config.modelPatterns]
  const without = models.filter(({ contextTokensMax, outputTokensMax = 1 }) =>
    contextTokensMax === undefined ? true : outputTokensMax > contextTokensMax,
  )

  t.ok(models.length > 500, String(models.length))
  t.same(
    without.map(({ name }) => name),
    [],
  )
})

await t.test('a model costs its list price at the rate, with thresholds, searches and tiers', async t => {
  const gpt5 = directory.resolve('gpt-5', undefined)?.entry.prices
  const sol = directory.resolve('gpt-6-sol', undefined)?.entry.prices

  t.match(gpt5?.[0], {
    rubPerMillion: { input: '125', cachedInput: '12.5', output: '1000' },
    rubPerUnit: { searches: '1' },
    factors: { batch: '0.5', flex: '0.5', priority: '2' },
  })
  t.match(sol?.[0], {
    rubPerMillion: { input: '200', cachedInput: '20', cacheWrite5m: '250', output: '1000' },
    above: [{ inputTokens: 272_000, mode: 'whole', rubPerMillion: { input: '400', output: '1500' } }],
    factors: { batch: '0.5' },
  })
})

await t.test('a model of own.yaml changes its price on the day that its provider announces', async t => {
  const prices = directory.resolve('gemini-4-argon', undefined)?.entry.prices ?? []
  const costs = (day: string) => priceInForce(prices, Date.parse(day))?.rubPerMillion

  t.match(costs('2026-11-30T23:59:59Z'), { input: '200', cachedInput: '10', output: '1000' })
  t.match(costs('2026-12-01'), { input: '400', cachedInput: '20', output: '2000' })

  const speech = directory.resolve('gemini-3.8-flash-tts', undefined)?.entry.prices ?? []
  const spoken = (day: string) => priceInForce(speech, Date.parse(day))?.rubPerMillion.audioOutput
  t.equal(spoken('2026-12-31T23:59:59Z'), '900')
  t.equal(spoken('2027-01-01'), '1800')
})

await t.test('a second of 4K video costs more than a second of the default size', t => {
  const veo = directory.resolve('veo-3.1-generate-preview', undefined)?.entry.prices

  t.match(veo?.[0]?.rubPerUnit, { videoSeconds: '40', 'videoSeconds/4k': '60' })
  t.end()
})

await t.test('every version of a price has the service tiers of the first version', async t => {
  const versions = [...config.models.values(), ...config.modelPatterns].flatMap(({ name, prices }) =>
    prices.map(({ factors }) => ({ name, factors, first: prices[0]?.factors })),
  )

  for (const { name, factors, first } of versions) t.same(factors, first, name)
})

await t.test('only two dated names cost less than their models', async t => {
  const served = [...config.models.values(), ...config.modelPatterns]

  const cheaper = cheaperNames(config, served, Date.parse('2026-11-23'))

  t.same(
    cheaper.map(({ name }) => name),
    ['openrouter/mistralai/mistral-large-2512', 'openrouter/qwen/qwen-plus-2025-07-28'],
  )
})

await t.test('dated names have the context window and the price of their model', async t => {
  for (const [dated, name] of [
    ['gpt-6-sol-2026-11-01', 'gpt-6-sol'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['claude-opus-5-5-20261101', 'claude-opus-5-5'],
    ['gemini-3.8-flash-preview-11-2026', 'gemini-3.8-flash'],
  ] as const) {
    const found = directory.resolve(dated, undefined)?.entry
    const own = directory.resolve(name, undefined)?.entry
    t.equal(found?.contextTokensMax, own?.contextTokensMax, dated)
    t.ok(own?.contextTokensMax, name)
    t.same(found?.prices[0]?.rubPerMillion, own?.prices[0]?.rubPerMillion, dated)
  }
})

await t.test('the default models of current coding tools have prices', async t => {
  const defaultModels = {
    // Claude Code 2.1.331
    anthropic: ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-fable-5-2'],
    // Codex 0.169, OpenAI Agents SDK 0.20
    openai: ['gpt-6.1-sol', 'gpt-6.1-terra', 'gpt-6-astra', 'codex-auto-review', 'gpt-5.6-luna'],
    // Gemini CLI 0.61 and its router
    google: ['gemini-3.1-pro-preview', 'gemini-3.1-pro-preview-customtools', 'gemini-3.5-flash-lite'],
  }
  for (const [provider, names] of Object.entries(defaultModels)) {
    for (const name of names) {
      const entry = directory.resolve(name, undefined)?.entry
      t.same(entry?.providers, [provider], name)
      t.ok(entry?.prices[0]?.rubPerMillion.output, `${name} has a price`)
    }
  }
})
