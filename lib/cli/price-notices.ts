import type { ModelConfig } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { withRates } from '../config/with-rates.ts'
import { cheaperNames } from '../models/cheaper-names.ts'
import { priceInForce, type Price } from '../money/price.ts'
import { isServed } from './is-served.ts'

/** Of more models than these the rest are counted. */
const namedMax = 20
/** As in the shipped configuration: no rate that ever was. */
const exampleRate = '100'

/**
 * What an operator should know of prices that are not there, not yet, or not as they may have been meant: what a
 * request is refused for, what it has for nothing, and what is sold at a price that nobody chose. Empty where nothing
 * is charged anyway.
 */
export function priceNotices(
  { config, mixedPrices, ownModels }: Pick<LoadedConfig, 'config' | 'mixedPrices' | 'ownModels'>,
  now: number,
): readonly string[] {
  if (config.unmetered) return []
  // Neither store nor network are asked for the Central Bank's rate: what is missing and what is cheaper shows at any.
  const rated = withRates(config, [{ usdRub: exampleRate }])
  const served = [...rated.models.values(), ...rated.modelPatterns].filter(model => isServed(config, model))
  return [
    ...unpricedNotices(served, now),
    ...exampleNotices(served),
    ...cheaperNotices(
      cheaperNames(rated, served, now).filter(
        ({ name, model }) => ownModels.has(name) || ownModels.has(model),
      ),
    ),
    ...mixedNotices(mixedPrices, new Set(served.map(({ name }) => name))),
  ]
}

function unpricedNotices(served: readonly ModelConfig[], now: number): readonly string[] {
  const named = (is: (price: Price | undefined) => boolean): string | undefined =>
    listed(served.filter(({ prices }) => is(priceInForce(prices, now))).map(({ name }) => name))
  const unpriced = named(price => price === undefined || isEmpty(price))
  const halfPriced = named(price => price !== undefined && !isEmpty(price) && isInputFree(price))
  return [
    ...(unpriced === undefined
      ? []
      : [`models without a price are refused where they would cost: ${unpriced}`]),
    ...(halfPriced === undefined
      ? []
      : [`models with a price for output tokens and none for input, which is free then: ${halfPriced}`]),
  ]
}

function exampleNotices(served: readonly ModelConfig[]): readonly string[] {
  const models = listed(served.filter(({ list }) => list?.usdRub === exampleRate).map(({ name }) => name))
  if (models === undefined) return []
  return [
    `models priced by the example rate of ${exampleRate} roubles for a dollar; set prices.usdRub: ${models}`,
  ]
}

/** Lists of prices have names that cost less than those they begin with, and mean it. */
function cheaperNotices(cheaper: ReturnType<typeof cheaperNames>): readonly string[] {
  return cheaper.map(({ name, model, meters }) => {
    const differences = meters.map(
      ({ meter, rub, modelRub }) => `${meter} ${rub ?? 'nothing'} instead of ${modelRub}`,
    )
    return (
      `"${name}" is sold for less than its model "${model}" (${differences.join(', ')}): ` +
      `write like: ${model} to sell it at the same price`
    )
  })
}

function mixedNotices(mixed: LoadedConfig['mixedPrices'], served: ReadonlySet<string>): readonly string[] {
  return mixed
    .filter(({ model }) => served.has(model))
    .flatMap(({ model, inherited, lacking }) => [
      ...[...Map.groupBy(inherited, ({ file }) => file)].map(
        ([file, meters]) =>
          `the price of "${model}" has meters that ${file} says, and your file does not: ` +
          meters.map(({ meter }) => meter).join(', '),
      ),
      ...(lacking.length === 0
        ? []
        : [
            `the price of "${model}" in roubles lacks meters of its list price, for which nothing is charged then: ` +
              lacking.join(', '),
          ]),
    ])
}

function isEmpty({ rubPerMillion, rubPerUnit }: Price): boolean {
  return Object.keys(rubPerMillion).length === 0 && Object.keys(rubPerUnit).length === 0
}

/** What is paid by the piece may well have its prompt for nothing. */
function isInputFree({ rubPerMillion, rubPerUnit }: Price): boolean {
  const { input, output } = rubPerMillion
  return output !== undefined && input === undefined && Object.keys(rubPerUnit).length === 0
}

function listed(models: readonly string[]): string | undefined {
  if (models.length === 0) return undefined
  const others = models.length > namedMax ? ` and ${models.length - namedMax} more` : ''
  return `${models.slice(0, namedMax).join(', ')}${others}`
}
