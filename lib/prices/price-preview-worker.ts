import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { loadConfig } from '../config/load-config.ts'
import { withRates } from '../config/pricing-schema.ts'
import { priceInForce } from '../money/price.ts'
import { systemClock } from '../platform/clock.ts'
import { openReports } from '../stores/open-store.ts'
import { isPriceJump, priceRows } from './list-price.ts'
import type { PreviewedChange, PreviewJob, PreviewMessage } from './price-previews.ts'

// The thread of one preview. It reports the changes, then the recomputed charges, and ends.
const port = parentPort
if (port === null) throw new Error('a preview runs in a thread of its own')

const { file, store, prices, rates, before, now, since }: PreviewJob = workerData
const tell = (message: PreviewMessage): void => port.postMessage(message)

/** The configuration as it would be: its files, overlaid with one that is not written. */
function previewed(): Config {
  const over = join(dirname(file), '.preview.json')
  const instead = new Map([[over, JSON.stringify({ include: [file], prices })]])
  return withRates(loadConfig(over, { instead, use: 'prices' }).config, rates)
}

function changesTo(config: Config): readonly PreviewedChange[] {
  return [...config.models.values(), ...config.modelPatterns].flatMap(model => {
    const [old, next] = [before.get(model.name), priceInForce(model.prices, now)]
    if (old === undefined || next === undefined || old.hash === next.hash) return []
    const amounts = new Map(priceRows(old).map(row => [row.meter, row]))
    return priceRows(next).flatMap(({ meter, unit, amount }) => {
      const was = amounts.get(meter)
      if (was === undefined || was.unit !== unit || was.amount === amount) return []
      return [{ model: model.name, meter, unit, before: was.amount, after: amount }]
    })
  })
}

async function preview(config: Config): Promise<void> {
  const changes = changesTo(config)
  const jump = changes.find(one => isPriceJump(one.before, one.after))
  if (jump !== undefined) return tell({ jump })
  tell({ changes, costs: undefined })
  if (changes.length === 0) return tell({ costs: [] })
  const changed = new Set(changes.map(({ model }) => model))
  const patterns = new Map(config.modelPatterns.map(pattern => [pattern.name, pattern]))
  const reports = await openReports(store, systemClock)
  try {
    const costs = await reports.reprice(since, {
      before: model => (changed.has(model) ? before.get(model) : undefined),
      after: model => priceInForce((config.models.get(model) ?? patterns.get(model))?.prices ?? [], now),
    })
    tell({ costs })
  } finally {
    await reports.close()
  }
}

try {
  await preview(previewed())
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  tell({ wrong: error.message })
}
