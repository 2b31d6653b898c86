import { z } from 'zod'
import { meters } from '../money/usage.ts'
import { ownPricing } from './pricing-schema.ts'
import { decimal, integer } from './scalars.ts'
import type { Problems } from './problems.ts'
import { isMapping } from './config-error.ts'

const perMillion = z.partialRecord(z.enum(meters), decimal).optional()
const perUnit = z.record(z.string(), decimal).optional()
const inDollars =
  'the list price, charged times the rate and the coefficient where there is no price in roubles'

const priceShape = {
  rubPerMillion: perMillion.meta({ description: 'Roubles per million units of a meter.' }),
  rubPerUnit: perUnit.meta({
    description: 'Roubles per unit of a meter or of a variant, such as images/1024x1024/high.',
  }),
  usdPerMillion: perMillion.meta({ description: `Dollars per million units: ${inDollars}.` }),
  usdPerUnit: perUnit.meta({ description: `Dollars per unit: ${inDollars}.` }),
  above: z
    .array(
      z.strictObject({
        inputTokens: integer(1, 1_000_000_000),
        mode: z.enum(['whole', 'excess']),
        rubPerMillion: perMillion,
        usdPerMillion: perMillion,
      }),
    )
    .optional()
    .meta({ description: 'Rates for prompts longer than inputTokens.' }),
  factors: z
    .partialRecord(z.enum(['batch', 'flex', 'priority', 'fast', 'us']), decimal)
    .optional()
    .meta({
      description:
        'Multipliers by the tier that was served; us: for inference that stays in the United States.',
    }),
}

const priceSchema = z.strictObject({
  from: z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], {
      error: 'must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T00:00:00+03:00',
    })
    .optional()
    .meta({ description: 'When it takes effect; a date means midnight UTC.' }),
  ...priceShape,
})

/** A version of a price as written in the config. */
export type PriceInput = z.output<typeof priceSchema>

/** What models read and produce. An embedding is a vector, a ranking an order of documents. */
const modalities = ['text', 'image', 'audio', 'video', 'document', 'embedding', 'ranking'] as const

/** What a model supports. */
const capabilities = ['tools', 'reasoning', 'structuredOutput', 'promptCaching', 'webSearch'] as const

/** One entry of `models`: an alias, providers with prices, or another model by `like`. */
export const modelSchema = z.strictObject({
  alias: z.string().min(1).optional(),
  provider: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'must be a provider or a list of providers' })
    .optional(),
  upstreamModel: z.string().min(1).optional(),
  names: z.array(z.string().min(1)).optional().meta({
    description: 'For a pattern: names that it is known to cover; they are listed among the models.',
  }),
  contextTokensMax: integer(1, 100_000_000).optional().meta({
    description: 'The context window: the most tokens that one request reads and writes together.',
  }),
  outputTokensMax: integer(1, 100_000_000).optional().meta({
    description: 'The most tokens that one response contains.',
  }),
  modalities: z
    .strictObject({ input: z.array(z.enum(modalities)), output: z.array(z.enum(modalities)) })
    .optional()
    .meta({ description: 'What the model reads and what it produces.' }),
  capabilities: z
    .array(z.enum(capabilities))
    .optional()
    .meta({ description: 'Other features of the model.' }),
  like: z.string().min(1).optional().meta({
    description: 'The name of another model here, whose settings this one inherits, its price too.',
  }),
  ...priceShape,
  ...ownPricing,
  prices: z.array(priceSchema).optional().meta({
    description:
      'Versions of the price, each from its date or time on; one without a date applies from the beginning.',
  }),
})

/** A model or an alias as written in the config. */
export type ModelInput = z.output<typeof modelSchema>

/** The keys that set a price. */
export const priceKeys = [
  'rubPerMillion',
  'rubPerUnit',
  'usdPerMillion',
  'usdPerUnit',
  'above',
  'prices',
] as const

interface LikeContext {
  /** `models` as written in the config. */
  readonly section: Readonly<Record<string, unknown>>
  /** Receives the entries whose `like` names a model that is off sale. */
  readonly offSale: string[]
  readonly problems: Problems
}

/**
 * The entries with `like` resolved: each inherits all settings of the other entry but its names. An entry like a
 * model that is off sale is off sale too.
 */
export function resolveLikes(
  inputs: ReadonlyMap<string, ModelInput>,
  context: LikeContext,
): ReadonlyMap<string, ModelInput> {
  const resolved = new Map<string, ModelInput>()
  for (const [name, input] of inputs) {
    const whole = input.like === undefined ? input : withLike(name, input, inputs, context)
    if (whole !== undefined) resolved.set(name, whole)
  }
  return resolved
}

/** Undefined where the model is off sale or does not exist. */
function withLike(
  name: string,
  input: ModelInput,
  inputs: ReadonlyMap<string, ModelInput>,
  { section, offSale, problems }: LikeContext,
): ModelInput | undefined {
  const path = ['models', name, 'like']
  const seen = [name]
  let whole = input
  for (let like = input.like; like !== undefined;) {
    const other = inputs.get(like)
    if (seen.includes(like)) {
      problems.add(path, `leads back to itself: ${[...seen, like].join(' -> ')}`)
      return undefined
    }
    if (other === undefined) {
      const written = section[like]
      if (written === null) offSale.push(name)
      else if (written === undefined) problems.addUnknown(path, 'model', like, inputs.keys())
      else if (isMapping(written) && written['alias'] !== undefined)
        problems.add(path, `"${like}" is an alias: name the model that it stands for`)
      return undefined
    }
    seen.push(like)
    whole = { ...takenFrom(other, whole), ...whole }
    like = other.like
  }
  return whole
}

/**
 * The inherited settings. An entry with a price of its own inherits no part of a price, so that two prices are never
 * mixed.
 */
function takenFrom(other: ModelInput, own: ModelInput): ModelInput {
  const { upstreamModel: _upstreamModel, names: _names, ...taken } = other
  const isPriced = priceKeys.some(key => own[key] !== undefined)
  if (!isPriced) return taken
  return Object.fromEntries(
    Object.entries(taken).filter(([key]) => !(priceKeys as readonly string[]).includes(key)),
  )
}
