import type { ChargeRequest } from '../ledger/ledger.ts'
import { isSameModel } from '../metering/is-same-model.ts'
import type { Price } from '../money/price.ts'
import type { UsageLine } from '../money/usage.ts'

/** The model that was asked for, at its provider, and its price. */
export interface PricedModel {
  readonly name: string
  /** Undefined where the request named no model. */
  readonly price: Price | undefined
}

/**
 * Gives each line its price: that of the model that was asked for, unless the line is another model's (a
 * fallback, an advisor, one that draws or transcribes).
 * @param priceOf the price of another model by its name at the provider; without one, the line is flagged and
 * priced as the model that was asked for
 */
export function priceLines(
  lines: readonly UsageLine[],
  own: PricedModel,
  priceOf: (model: string) => Price | undefined,
  flags: Set<string>,
): ChargeRequest['lines'] {
  const priced: { usage: UsageLine; price: Price }[] = []
  for (const usage of lines) {
    const isOwn = usage.model === undefined || isSameModel(usage.model, own.name)
    const named = isOwn ? undefined : priceOf(usage.model)
    if (named === undefined && (!isOwn || own.price === undefined)) flags.add('model_unpriced')
    const price = named ?? own.price
    if (price !== undefined) priced.push({ usage, price })
  }
  return priced
}
