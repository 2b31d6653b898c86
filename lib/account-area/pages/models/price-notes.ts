import { productOf } from '../../../money/decimal.ts'
import type { Price } from '../../../money/price.ts'
import { meters as allMeters } from '../../../money/usage.ts'
import type { Meter } from '../../../money/usage.ts'
import { count, decimal, exactRoubles, isoDay } from '../../../web/format.ts'
import type { Page } from '../../page.ts'
import type { PricedModel } from './priced-models.ts'

/** In which words prices are shown. */
type Words = Pick<Page, 'texts' | 'language'>

/** What has a column of its own. */
export const mainMeters = ['input', 'cachedInput', 'output'] as const satisfies readonly Meter[]

function perMillion(
  { texts, language }: Words,
  rates: Price['rubPerMillion'],
  only = allMeters as readonly Meter[],
): string[] {
  const { meters, models } = texts
  return only.flatMap(meter => {
    const rub = rates[meter]
    return rub === undefined ? [] : [`${meters[meter]}: ${exactRoubles(rub, language)} ${models.unitOf}`]
  })
}

/** Where the unit is said already. */
function short({ texts, language }: Words, rates: Price['rubPerMillion']): string {
  const { meters } = texts
  return allMeters
    .flatMap(meter => {
      const rub = rates[meter]
      return rub === undefined ? [] : [`${meters[meter].toLowerCase()} ${exactRoubles(rub, language)}`]
    })
    .join(', ')
}

function perUnit({ texts, language }: Words, rates: Price['rubPerUnit']): string[] {
  const { meters } = texts
  return Object.entries(rates).map(([name, rub]) => {
    const [meter = '', ...variant] = name.split('/')
    const label = Object.hasOwn(meters, meter) ? meters[meter as Meter] : meter
    return `${[label, ...variant].join(' ')}: ${exactRoubles(rub, language)}`
  })
}

function levels(words: Words, { above }: Price): string[] {
  const { models } = words.texts
  return above.map(({ inputTokens, mode, rubPerMillion }) => {
    const reach = mode === 'whole' ? models.whole : models.excess
    return `${reach(count(inputTokens, words.language))}: ${short(words, rubPerMillion)}`
  })
}

/** A factor says little by itself: what the tokens cost with it is said, too. */
function tiers(words: Words, { factors, rubPerMillion }: Price): string[] {
  const { models } = words.texts
  return Object.entries(factors).map(([name, factor]) => {
    const label = Object.hasOwn(models.tiers, name)
      ? models.tiers[name as keyof typeof models.tiers]
      : models.tier(name)
    const rates: { [M in Meter]?: string } = {}
    for (const meter of mainMeters) {
      const rub = rubPerMillion[meter]
      if (rub !== undefined) rates[meter] = productOf(rub, factor)
    }
    const prices = short(words, rates)
    return `${label}, ×${decimal(factor, words.language)}${prices === '' ? '' : `: ${prices}`}`
  })
}

/** All of a price that has no column of its own, as sentences. */
export function priceNotes(
  words: Words,
  { price, later }: Pick<PricedModel, 'price' | 'later'>,
): readonly string[] {
  const isMain: ReadonlySet<Meter> = new Set(mainMeters)
  const others = allMeters.filter(meter => !isMain.has(meter))
  return [
    ...perMillion(words, price.rubPerMillion, others),
    ...perUnit(words, price.rubPerUnit),
    ...levels(words, price),
    ...tiers(words, price),
    ...later.map(next => {
      const prices = [
        ...perMillion(words, next.rubPerMillion),
        ...perUnit(words, next.rubPerUnit),
        ...levels(words, next),
      ]
      return `${words.texts.models.from(isoDay(Date.parse(next.from ?? '')))}: ${prices.join(', ')}`
    }),
  ]
}
