import { existsSync } from 'node:fs'
import { systemClock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { withRates } from '../config/with-rates.ts'
import type { DatedRate } from '../money/pricing.ts'
import type { SharedOptions } from './add-command.ts'
import { openPriceConfig } from './open-config.ts'
import { readRecords } from './with-records.ts'

/**
 * The configuration with the prices that follow the Central Bank's rate, as far as the store knows it.
 * @throws CommandError that lists what is wrong with the configuration
 */
export async function openPricedConfig(options: SharedOptions): Promise<LoadedConfig> {
  const loaded = openPriceConfig(options)
  const { config } = loaded
  if (config.rates === undefined || !hasStore(config)) return loaded
  return { ...loaded, config: withRates(config, await knownRates(options, config)) }
}

/** The Central Bank's rates that the store has, where prices follow them. */
export async function knownRates(options: SharedOptions, config: Config): Promise<readonly DatedRate[]> {
  if (config.rates === undefined) return []
  const { ratesInForce, readRates } = await import('../prices/rate-book.ts')
  return ratesInForce(await readRecords(options, readRates), systemClock.now())
}

/** Whether there is a store to read. */
export function hasStore({ store }: Config): boolean {
  return store.kind === 'postgres' || existsSync(store.file)
}
