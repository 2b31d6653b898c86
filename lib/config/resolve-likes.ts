import { isMapping } from './layers.ts'
import type { ModelInput } from './model-schema.ts'
import type { Problems } from './problems.ts'

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
  for (let like = input.like; like !== undefined; ) {
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
