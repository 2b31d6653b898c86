import { parseDecimal, writeDecimal } from '../../../money/decimal.ts'
import type { Price } from '../../../money/price.ts'
import { meters as allMeters } from '../../../money/usage.ts'
import type { Meter } from '../../../money/usage.ts'
import { count, exactRoubles, isoDay } from '../../format.ts'
import type { Texts } from '../../texts/texts.ts'
import type { PricedModel } from './priced-models.ts'

/** What has a column of its own. */
export const mainMeters = ['input', 'cachedInput', 'output'] as const satisfies readonly Meter[]

/** Decimals have twelve places behind the point. */
function times(left: string, right: string): string {
  return writeDecimal(parseDecimal(left) * parseDecimal(right), 24)
}

function perMillion(
  { meters, models }: Texts,
  rates: Price['rubPerMillion'],
  only = allMeters as readonly Meter[],
): string[] {
  return only.flatMap(meter => {
    const rub = rates[meter]
    return rub === undefined ? [] : [`${meters[meter]}: ${exactRoubles(rub)} ${models.unitOf}`]
  })
}

/** Where the unit is said already. */
function short({ meters }: Texts, rates: Price['rubPerMillion']): string {
  return allMeters
    .flatMap(meter => {
      const rub = rates[meter]
      return rub === undefined ? [] : [`${meters[meter].toLowerCase()} ${exactRoubles(rub)}`]
    })
    .join(', ')
}

function perUnit({ meters }: Texts, rates: Price['rubPerUnit']): string[] {
  return Object.entries(rates).map(([name, rub]) => {
    const [meter = '', ...variant] = name.split('/')
    const label = Object.hasOwn(meters, meter) ? meters[meter as Meter] : meter
    return `${[label, ...variant].join(' ')}: ${exactRoubles(rub)}`
  })
}

function levels(texts: Texts, { above }: Price): string[] {
  const { models } = texts
  return above.map(({ inputTokens, mode, rubPerMillion }) => {
    const reach = mode === 'whole' ? models.whole : models.excess
    return `${reach(count(inputTokens))}: ${short(texts, rubPerMillion)}`
  })
}

/** A factor says little by itself: what the tokens cost with it is said, too. */
function tiers(texts: Texts, { factors, rubPerMillion }: Price): string[] {
  const { models } = texts
  return Object.entries(factors).map(([name, factor]) => {
    const label = Object.hasOwn(models.tiers, name)
      ? models.tiers[name as keyof typeof models.tiers]
      : models.tier(name)
    const rates: { [M in Meter]?: string } = {}
    for (const meter of mainMeters) {
      const rub = rubPerMillion[meter]
      if (rub !== undefined) rates[meter] = times(rub, factor)
    }
    const prices = short(texts, rates)
    return `${label}, ×${factor.replace('.', ',')}${prices === '' ? '' : `: ${prices}`}`
  })
}

/** All of a price that has no column of its own, as sentences. */
export function priceNotes(
  texts: Texts,
  { price, later }: Pick<PricedModel, 'price' | 'later'>,
): readonly string[] {
  const isMain: ReadonlySet<Meter> = new Set(mainMeters)
  const others = allMeters.filter(meter => !isMain.has(meter))
  return [
    ...perMillion(texts, price.rubPerMillion, others),
    ...perUnit(texts, price.rubPerUnit),
    ...levels(texts, price),
    ...tiers(texts, price),
    ...later.map(next => {
      const prices = [
        ...perMillion(texts, next.rubPerMillion),
        ...perUnit(texts, next.rubPerUnit),
        ...levels(texts, next),
      ]
      return `${texts.models.from(isoDay(Date.parse(next.from ?? '')))}: ${prices.join(', ')}`
    }),
  ]
}
