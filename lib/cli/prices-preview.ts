import type { Command } from 'commander'
import { pricesSchema } from '../config/pricing-schema.ts'
import type { ModelCost } from '../ledger/reports.ts'
import { formatRoubles } from '../money/amount.ts'
import { parseDecimal } from '../money/decimal.ts'
import { systemClock } from '../platform/clock.ts'
import { PricePreviews } from '../prices/price-previews.ts'
import type { PreviewedChange, PreviewedPrices, PricePreview } from '../prices/price-previews.ts'
import { changePercent } from '../prices/rate-book.ts'
import { answer, addCommand, CommandError, UsageError, formatTable } from './command.ts'
import type { SharedOptions, CliContext } from './command.ts'
import { openPricedConfig, knownRates, hasStore } from './with-store.ts'

interface PreviewOptions extends SharedOptions {
  readonly usdRub?: string
  readonly coefficient?: string
}

/** Charges may be many, and nobody else waits for them here. */
const waitMs = 600_000

/** `prices preview`: what another rate or coefficient would change; nothing is written. */
export function addPricesPreview(prices: Command, { stdout }: CliContext): void {
  addCommand(
    prices,
    'preview',
    'show what another rate or coefficient would change, and what the last 30 days would have come to',
  )
    .option('--usd-rub <rate>', 'roubles for a dollar, such as 92.50; as configured unless said')
    .option('--coefficient <factor>', 'such as 1.30; as configured unless said')
    .action(async (options: PreviewOptions) => {
      const previewed = readPrices(options)
      const { config } = await openPricedConfig(options)
      if (!hasStore(config)) throw new CommandError('there is no store yet: gateway serve makes it')
      const rates = await knownRates(options, config)
      const found = await new PricePreviews(waitMs).preview(config, previewed, {
        rates,
        now: systemClock.now(),
      })
      if (!('changes' in found)) throw new CommandError(refusalOf(found))
      const { changes, costs = [] } = found
      answer(stdout, options, { changes, last30Days: costs.map(costJson) }, report(changes, costs, previewed))
    })
}

/** @throws UsageError by the rules of the configuration */
function readPrices({ usdRub, coefficient }: PreviewOptions): PreviewedPrices {
  const prices = {
    ...(usdRub !== undefined && { usdRub }),
    ...(coefficient !== undefined && { coefficient }),
  }
  if (Object.keys(prices).length === 0) throw new UsageError('name --usd-rub, --coefficient or both')
  const [wrong] = pricesSchema.safeParse(prices).error?.issues ?? []
  if (wrong === undefined) return prices
  const isRate = wrong.path[0] === 'usdRub'
  throw new UsageError(
    isRate
      ? `--usd-rub: "${usdRub}" is no rate such as 92.50, greater than 0`
      : `--coefficient: "${coefficient}" is no factor such as 1.30, greater than 0`,
  )
}

function refusalOf(found: Exclude<PricePreview, { changes: unknown }>): string {
  if ('busy' in found) return 'another preview is worked out'
  if ('wrong' in found) return `the configuration would be wrong:\n${found.wrong}`
  const { model, meter, before, after } = found.jump
  return `${model}, ${meter}: ${before} would become ${after} ₽, more than ten times as much or as little; a number was likely mistyped`
}

function costJson({ model, lines, chargedMicros, beforeMicros, afterMicros }: ModelCost): object {
  return {
    model,
    lines,
    charged: formatRoubles(chargedMicros),
    before: formatRoubles(beforeMicros),
    after: formatRoubles(afterMicros),
  }
}

const changeColumns = {
  model: 'left',
  meter: 'left',
  before: 'right',
  after: 'right',
  change: 'right',
  for: 'left',
} as const
const costColumns = {
  model: 'left',
  charges: 'right',
  charged: 'right',
  'would be': 'right',
  difference: 'right',
} as const

function signed(micros: number): string {
  return `${micros > 0 ? '+' : ''}${formatRoubles(micros)}`
}

function report(
  changes: readonly PreviewedChange[],
  costs: readonly ModelCost[],
  previewed: PreviewedPrices,
): string {
  if (changes.length === 0) return 'no price changes\n'
  const rows = changes.map(({ model, meter, unit, before, after }) => ({
    model,
    meter,
    before,
    after,
    change: parseDecimal(before) === 0n ? '' : `${changePercent(before, after)} %`,
    for: unit === 'million' ? 'a million' : 'each',
  }))
  const used = costs.map(one => ({
    model: one.model,
    charges: String(one.lines),
    charged: formatRoubles(one.chargedMicros),
    'would be': formatRoubles(one.afterMicros),
    difference: signed(one.afterMicros - one.chargedMicros),
  }))
  const sum = (of: (cost: ModelCost) => number): number => costs.reduce((total, cost) => total + of(cost), 0)
  const [charged, after] = [sum(one => one.chargedMicros), sum(one => one.afterMicros)]
  const effect =
    used.length === 0
      ? 'In the last 30 days none of these models was used.\n'
      : `${formatTable(used, costColumns)}The last 30 days came to ${formatRoubles(charged)} ₽ and would have come to ${formatRoubles(after)} ₽ (${signed(after - charged)} ₽).\n`
  const setting = Object.entries(previewed).map(([name, value]) => `${name}: '${value}'`)
  return `${formatTable(rows, changeColumns)}\n${effect}\nNothing was changed. To have it so, write  prices: { ${setting.join(', ')} }  into the configuration and reload the gateway.\n`
}
