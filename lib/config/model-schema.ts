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
      description: 'Multipliers by the tier that was served; us: for answers that stay in the United States.',
    }),
}

const priceSchema = z.strictObject({
  from: z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], {
      error: 'must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T00:00:00+03:00',
    })
    .optional()
    .meta({ description: 'From when it holds; a date begins at midnight UTC.' }),
  ...priceShape,
})

/** A version of a price as it is written. */
export type PriceInput = z.output<typeof priceSchema>

/** What models read and make. An embedding is a vector, a ranking an order of documents. */
const modalities = ['text', 'image', 'audio', 'video', 'document', 'embedding', 'ranking'] as const

/** What a model can do. */
const capabilities = ['tools', 'reasoning', 'structuredOutput', 'promptCaching', 'webSearch'] as const

/** One entry of `models`: an alias, or providers and prices, or another model's. */
export const modelSchema = z.strictObject({
  alias: z.string().min(1).optional(),
  provider: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'must be a provider or a list of providers' })
    .optional(),
  upstreamModel: z.string().min(1).optional(),
  names: z.array(z.string().min(1)).optional().meta({
    description: 'Of a pattern: the names that it is known to cover; they are listed among the models.',
  }),
  contextTokensMax: integer(1, 100_000_000).optional().meta({
    description: 'The context window: the most tokens that one request reads and writes together.',
  }),
  outputTokensMax: integer(1, 100_000_000).optional().meta({
    description: 'The most tokens that one response has.',
  }),
  modalities: z
    .strictObject({ input: z.array(z.enum(modalities)), output: z.array(z.enum(modalities)) })
    .optional()
    .meta({ description: 'What the model reads and what it makes.' }),
  capabilities: z.array(z.enum(capabilities)).optional().meta({ description: 'What it can do beyond that.' }),
  like: z.string().min(1).optional().meta({
    description:
      'Another model, by its name here: what is not said of this one is as it is there, its price too.',
  }),
  ...priceShape,
  ...ownPricing,
  prices: z.array(priceSchema).optional().meta({
    description: 'Versions of the price, each from its date or time on; without one from the beginning.',
  }),
})

/** A model or an alias as it is written. */
export type ModelInput = z.output<typeof modelSchema>

/** What says a price. */
export const priceKeys = [
  'rubPerMillion',
  'rubPerUnit',
  'usdPerMillion',
  'usdPerUnit',
  'above',
  'prices',
] as const

interface LikeContext {
  /** `models` as it is written. */
  readonly section: Readonly<Record<string, unknown>>
  /** Gets the entries whose model is off sale. */
  readonly offSale: string[]
  readonly problems: Problems
}

/**
 * The entries with what they take from others by `like` filled in: all but the names that belong to the other entry
 * alone. What stands for a model that is not sold is not sold either.
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

/** Undefined where the model is off sale, or there is none of the name. */
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

/** Of an entry with a price of its own no part of another price, so that the two are never mixed. */
function takenFrom(other: ModelInput, own: ModelInput): ModelInput {
  const { upstreamModel: _upstreamModel, names: _names, ...taken } = other
  const isPriced = priceKeys.some(key => own[key] !== undefined)
  if (!isPriced) return taken
  return Object.fromEntries(
    Object.entries(taken).filter(([key]) => !(priceKeys as readonly string[]).includes(key)),
  )
}
