import { z } from 'zod'
import { parseDecimal } from '../money/decimal.ts'
import { baseUrl, decimal } from './scalars.ts'
import type { Config, ModelConfig } from './config.ts'
import type { Settings } from './schema.ts'
import { priceVersions, type DatedRate } from '../money/pricing.ts'

const cbrUrl = 'https://www.cbr.ru/scripts/XML_daily.asp'

function isPositive(text: string): boolean {
  return parseDecimal(text) > 0n
}

/**
 * Percent: a number, or a decimal in quotes. A YAML number is formatted back to the decimal as written, up to six
 * decimals.
 */
const percent = z
  .union([z.number(), z.string()], { error: 'must be percent, such as 2 or "2.5"' })
  .transform(String)
  .refine(text => /^\d{1,3}(?:\.\d{1,6})?$/.test(text), 'must be percent from 0 to 999, such as 2 or "2.5"')

const rateError = 'must be roubles for a dollar in quotes, such as "92.50", or { from: cbr }'

const fixedRate = z
  .string({ error: rateError })
  .regex(/^\d{1,9}(\.\d{1,9})?$/, { error: rateError, abort: true })
  .refine(
    text => /^\d{1,6}(?:\.|$)/.test(text) && isPositive(text),
    'must be more than 0 and less than 1000000: roubles for a dollar',
  )

const coefficient = decimal.pipe(
  z
    .string()
    .refine(
      text => isPositive(text),
      'must be more than 0; to give a model away, set its price to "0" in roubles',
    )
    .refine(
      text => parseDecimal(text) < parseDecimal('100'),
      'must be a factor below 100: "1.30" adds 30 percent to the list price',
    ),
)

const round = z.enum(['half-up', 'up'])

const byFeed = {
  from: z.literal('cbr'),
  marginPercent: percent.default('0').meta({ description: 'Added to the rate.' }),
}

/** The rate of a single provider or model. */
const ownRate = z
  .union([fixedRate, z.strictObject(byFeed)], { error: rateError })
  .optional()
  .meta({ description: 'Overrides prices.usdRub.' })

/** Overrides of the section `prices` for a provider or a model. */
export const ownPricing = {
  usdRub: ownRate,
  coefficient: coefficient.optional().meta({ description: 'Overrides prices.coefficient.' }),
  round: round.optional().meta({ description: 'Overrides prices.round.' }),
}

const feed = {
  changePercentMax: percent.default('5').meta({
    description: 'A rate that differs by more from the one before is not used until it is accepted.',
  }),
  url: baseUrl.default(new URL(cbrUrl)),
  egress: z.string().optional().meta({
    description: 'direct, or the name of an egress; by default the first that is configured.',
  }),
}

/** The section `prices`: how list prices in dollars become prices in roubles. */
export const pricesSchema = z
  .strictObject({
    usdRub: z
      .union([fixedRate, z.strictObject({ ...byFeed, ...feed })], { error: rateError })
      .default('100')
      .meta({
        description:
          "Roubles for a dollar of list price: a rate of yours, or { from: cbr }, the Central Bank's of the day.",
      }),
    coefficient: coefficient.default('1').meta({
      description: 'What list prices in dollars are multiplied by: "1.30" adds 30 percent.',
    }),
    round: round.default('half-up').meta({
      description:
        'How the amount of each line of a charge is rounded to the micro-rouble, once: half-up, or up.',
    }),
  })
  .prefault({})

/** The source of the rates that prices follow. */
const rateFeedSchema = z.strictObject(feed)

/** The source of the Central Bank's rates, and the largest change in percent that is accepted automatically. */
export type RateFeed = z.output<typeof rateFeedSchema>

/**
 * The feed of rates, when any price follows it: the one that the section `prices` configures, or the default one when
 * only a provider or a model follows the rate.
 */
export function buildRates(
  { usdRub }: Settings['prices'],
  { models, modelPatterns }: Pick<Config, 'models' | 'modelPatterns'>,
): { readonly rates?: RateFeed } {
  const follows = [...models.values(), ...modelPatterns].some(
    ({ list }) => list !== undefined && typeof list.usdRub !== 'string',
  )
  if (!follows) return {}
  if (typeof usdRub === 'string') return { rates: rateFeedSchema.parse({}) }
  const { changePercentMax, url, egress } = usdRub
  return { rates: { changePercentMax, url, ...(egress !== undefined && { egress }) } }
}

/** The config with its prices recomputed by the Central Bank's rates; everything else is unchanged. */
export function withRates(config: Config, rates: readonly DatedRate[]): Config {
  const priced = (model: ModelConfig): ModelConfig => {
    const { list } = model
    if (list === undefined || typeof list.usdRub === 'string') return model
    return { ...model, prices: priceVersions(model.name, list, rates) }
  }
  return {
    ...config,
    models: new Map([...config.models].map(([name, model]) => [name, priced(model)])),
    modelPatterns: config.modelPatterns.map(priced),
  }
}
