import t from 'tap'
import { withRates } from '../../../lib/config/pricing-schema.ts'
import { loadFiles, problemsOf } from './config-files.ts'

const providers = `providers:
  sandbox: {}
  dear: { like: sandbox, coefficient: "2", usdRub: "110" }
`

await t.test(
  'rate, coefficient and rounding come from the model, else its provider, else the section',
  async t => {
    const { config } = loadFiles(t.testdir(), {
      'gateway.yaml': `${providers}prices: { usdRub: "92.50", coefficient: "1.30", round: up }
models:
  plain: { provider: sandbox, usdPerMillion: { input: "1.25" } }
  own: { provider: sandbox, usdPerMillion: { input: "1.25" }, coefficient: "1.35", round: half-up }
  provided: { provider: dear, usdPerMillion: { input: "1" } }
  first: { provider: [dear, sandbox], usdPerMillion: { input: "1" } }
  both: { provider: dear, usdPerMillion: { input: "1" }, coefficient: "1.5" }
  roubles: { provider: dear, rubPerMillion: { input: "7" }, coefficient: "9" }
`,
    })

    const prices = Object.fromEntries(
      [...config.models].map(
        ([
          name,
          {
            prices: [price],
          },
        ]) => [name, [price?.rubPerMillion.input, price?.round]],
      ),
    )
    t.same(prices, {
      plain: ['150.3125', 'up'],
      own: ['156.09375', undefined],
      provided: ['220', 'up'],
      first: ['220', 'up'],
      both: ['165', 'up'],
      roubles: ['7', 'up'],
    })
  },
)

await t.test(
  'a model with "like" takes every value it does not set, also one that an overlay changed',
  async t => {
    const { config } = loadFiles(t.testdir(), {
      'gateway.yaml': `include: [base.yaml]
models:
  m: { coefficient: "1.5", contextTokensMax: 2000 }
  "other-*": { like: m-20*, coefficient: "3" }
  own: { like: m, rubPerMillion: { output: "5" } }
`,
      'base.yaml': `${providers}prices: { usdRub: "100" }
models:
  m: { provider: sandbox, upstreamModel: real, usdPerMillion: { input: "1" }, prices: [{ from: 2027-01-01, usdPerMillion: { input: "2" } }], factors: { batch: "0.5" }, contextTokensMax: 1000, outputTokensMax: 100 }
  "m-20*": { like: m, names: [m-2026-01-31], outputTokensMax: 50 }
`,
    })

    const [other, dated] = config.modelPatterns
    t.match(dated, {
      name: 'm-20*',
      providers: ['sandbox'],
      names: ['m-2026-01-31'],
      contextTokensMax: 2000,
      outputTokensMax: 50,
      prices: [
        { rubPerMillion: { input: '150' }, factors: { batch: '0.5' } },
        { from: '2027-01-01', rubPerMillion: { input: '300' } },
      ],
    })
    t.equal(dated?.upstreamModel, undefined, 'requests for it use its own name')
    t.match(other, {
      name: 'other-*',
      outputTokensMax: 50,
      prices: [{ rubPerMillion: { input: '300' } }, {}],
    })
    t.same(
      config.models.get('own')?.prices.map(({ from, rubPerMillion }) => [from, rubPerMillion]),
      [[undefined, { output: '5' }]],
      'its own price is not merged with the other one',
    )
  },
)

await t.test('a model that is like one off sale is off sale too', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `include: [base.yaml]\nmodels: { m: null }`,
    'base.yaml': `${providers}models: { m: { provider: sandbox }, "m-*": { like: m }, again: { like: "m-*" } }`,
  })

  t.same(config.offSale, ['m', 'm-*', 'again'])
  t.equal(config.models.size + config.modelPatterns.length, 0)
})

await t.test('prices at the Central Bank’s rate are absent until the rate is known', async t => {
  const { config } = loadFiles(t.testdir(), {
    'gateway.yaml': `${providers}prices: { usdRub: { from: cbr, marginPercent: 2.5, changePercentMax: 5 }, coefficient: "1.3" }
models:
  m: { provider: sandbox, usdPerMillion: { input: "1" } }
  "m-*": { like: m }
  fixed: { provider: sandbox, usdPerMillion: { input: "1" }, usdRub: "100" }
  margin: { provider: sandbox, usdPerMillion: { input: "1" }, usdRub: { from: cbr } }
`,
  })

  t.same(config.models.get('m')?.prices, [])
  const rated = withRates(config, [{ usdRub: '80.1234' }])
  t.equal(rated.models.get('m')?.prices[0]?.rubPerMillion.input, '106.7644305')
  t.equal(rated.modelPatterns[0]?.prices[0]?.rubPerMillion.input, '106.7644305')
  t.equal(rated.models.get('margin')?.prices[0]?.rubPerMillion.input, '104.16042')
  t.equal(rated.models.get('fixed')?.prices[0]?.rubPerMillion.input, '130')
})

for (const [prices, path, message] of [
  ['usdRub: "0"', 'prices.usdRub', /more than 0/],
  ['usdRub: "0.000"', 'prices.usdRub', /more than 0/],
  ['usdRub: "-92"', 'prices.usdRub', /must be roubles for a dollar in quotes/],
  ['usdRub: 92.5', 'prices.usdRub', /in quotes/],
  ['usdRub: "92500000"', 'prices.usdRub', /less than 1000000/],
  ['usdRub: { from: ecb }', 'prices.usdRub.from', /"cbr"/],
  ['usdRub: { from: cbr, marginPercent: -1 }', 'prices.usdRub.marginPercent', /percent from 0/],
  ['usdRub: { from: cbr, changePercentMax: x }', 'prices.usdRub.changePercentMax', /percent from 0/],
  ['usdRub: { from: cbr, url: "http://example.org/" }', 'prices.usdRub.url', /https/],
  ['coefficient: "0"', 'prices.coefficient', /more than 0; to give a model away/],
  ['coefficient: "130"', 'prices.coefficient', /factor below 100: "1.30" adds 30 percent/],
  ['coefficient: 1.3', 'prices.coefficient', /in quotes/],
  ['round: down', 'prices.round', /"half-up", "up"/],
  ['coeficient: "1.3"', 'prices.coeficient', /unknown key/],
] as const) {
  await t.test(`refuses prices: { ${prices} }, with path and reason`, async t => {
    const [problem, ...others] = problemsOf(t.testdir(), {
      'gateway.yaml': `${providers}prices: { ${prices} }\n`,
    })

    t.match(problem, { path, message })
    t.same(others, [])
  })
}

for (const [models, path, message] of [
  ['m: { like: n }', 'models.m.like', /unknown model "n"/],
  ['m: { like: m }', 'models.m.like', /leads back to itself: m -> m/],
  ['a: { like: b }, b: { like: a }', 'models.a.like', /leads back to itself: a -> b -> a/],
  ['a: { alias: m }, m: { provider: sandbox }, b: { like: a }', 'models.b.like', /"a" is an alias/],
  ['m: { provider: sandbox, usdPerUnit: { sounds: "1" } }', 'models.m.usdPerUnit.sounds', /unknown meter/],
  [
    'm: { provider: sandbox, usdPerMillion: { input: "1" }, above: [{ inputTokens: 5, mode: whole, usdPerMillion: { output: "1" } }] }',
    'models.m.above[0].usdPerMillion.output',
    /no base price in usdPerMillion/,
  ],
  [
    'm: { provider: sandbox, usdPerMillion: { input: "999999999" }, usdRub: "999999", coefficient: "99" }',
    'models.m',
    /more digits than a price may/,
  ],
  [
    'm: { provider: sandbox, usdPerMillion: { input: "-1" } }',
    'models.m.usdPerMillion.input',
    /not negative/,
  ],
] as const) {
  await t.test(`refuses models: { ${models} }, with path and reason`, async t => {
    const [problem] = problemsOf(t.testdir(), { 'gateway.yaml': `${providers}models: { ${models} }\n` })

    t.match(problem, { path, message })
  })
}
