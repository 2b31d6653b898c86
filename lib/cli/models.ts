import type { Command } from 'commander'
import type { Config, ModelConfig } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { answerList, formatTable, type SharedOptions, type CliContext } from './command.ts'
import { isServed } from './open-config.ts'
import { priceInForce } from '../money/price.ts'
import { openPricedConfig } from './with-store.ts'

/** `models`: the models on sale, with their providers and prices. */
export function fillModels(models: Command, { stdout }: CliContext): void {
  models
    .option('--all', 'those of providers that are off, too')
    .action(async (options: SharedOptions & { readonly all?: boolean }) => {
      const { config } = await openPricedConfig(options)
      const models = [...config.models.values(), ...config.modelPatterns].filter(
        model => options.all === true || isServed(config, model),
      )
      const described = models.map(model => describe(config, model))
      answerList(stdout, options, described, table(config, models))
    })
}

function describe(config: Config, model: ModelConfig) {
  const aliases = [...config.aliases].flatMap(([alias, target]) => (target === model.name ? [alias] : []))
  const price = priceInForce(model.prices, systemClock.now())
  return {
    model: model.name,
    aliases,
    providers: model.providers,
    isOn: isServed(config, model),
    ...(model.outputTokensMax === undefined ? {} : { outputTokensMax: model.outputTokensMax }),
    rubPerMillion: price?.rubPerMillion ?? {},
    rubPerUnit: price?.rubPerUnit ?? {},
    above: price?.above ?? [],
    factors: price?.factors ?? {},
    // Charges refer to the version of a price by its hash.
    priceHash: price?.hash ?? null,
    prices: model.prices.map(({ hash, from = null, ...version }) => ({
      hash,
      from,
      rubPerMillion: version.rubPerMillion,
      rubPerUnit: version.rubPerUnit,
      above: version.above,
      factors: version.factors,
    })),
  }
}

/** Other parts of a price, in short; `*` marks what only --json shows in full. */
function marks(described: ReturnType<typeof describe>, now: number): string[] {
  const { above, factors, prices } = described
  const next = prices.find(({ from }) => from !== null && Date.parse(from) > now)
  return [
    ...above.map(({ inputTokens }) => `costs more above ${inputTokens} tokens*`),
    ...Object.entries(factors).map(([tier, factor]) => `${tier} x${factor}`),
    ...(next === undefined ? [] : [`changes ${next.from}*`]),
  ]
}

function noPrice({ list }: ModelConfig): string {
  return list === undefined
    ? 'no price: refused where it would cost'
    : 'no rate yet: gateway serve asks for it'
}

function table(config: Config, models: readonly ModelConfig[]): string {
  const now = systemClock.now()
  const rows = models.map(model => {
    const described = describe(config, model)
    const { rubPerMillion, rubPerUnit } = described
    const others = [
      ...Object.entries(rubPerMillion)
        .filter(([meter]) => !['input', 'cachedInput', 'output'].includes(meter))
        .map(([meter, price]) => `${meter} ${price}/M`),
      ...Object.entries(rubPerUnit).map(([unit, price]) => `${unit} ${price}`),
      ...marks(described, now),
    ]
    return {
      model: model.name,
      providers: model.providers.join(', '),
      input: rubPerMillion.input ?? '',
      cached: rubPerMillion.cachedInput ?? '',
      output: rubPerMillion.output ?? '',
      'other prices': model.prices.length === 0 ? noPrice(model) : others.join(', '),
    }
  })
  const hasMarks = rows.some(row => row['other prices'].includes('*'))
  return (
    `${formatTable(rows, ['input', 'cached', 'output'])}Roubles per million tokens, other prices per unit.\n` +
    (hasMarks ? '* --json shows this in full.\n' : '')
  )
}
