import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../platform/clock.ts'
import { withRates, type RateFeed } from '../config/pricing-schema.ts'
import type { Config } from '../config/config.ts'
import { moscowDay } from '../ledger/moscow-days.ts'
import type { Log } from '../platform/log.ts'
import type { DatedRate } from '../money/pricing.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Records } from '../stores/records/records.ts'
import { download } from '../upstream/outside-call.ts'
import { readCbrRate, changePercent, noteRate, ratesInForce, readRates, type DayRate } from './rate-book.ts'

interface RatedPricesOptions {
  /** Loads the code that reads and writes rates. */
  readonly records: () => Promise<Records>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly bus: Pick<PipelineBus, 'emit'>
  /** How often to query the Central Bank, and the store; in milliseconds. */
  readonly askMs?: number
  readonly lookMs?: number
}

/** The rate of the next day is known from the afternoon on. */
const askMsDefault = 3_600_000
/** How often to look for a rate that an operator accepted or another node found. */
const lookMsDefault = 60_000
const timeoutMs = 15_000
const bytesMax = 1024 * 1024

/** Updates prices with the Central Bank's rate. The last rate is kept in the store. */
export class RatedPrices {
  readonly #options: RatedPricesOptions
  #watched: { readonly config: Config; readonly apply: (config: Config) => Promise<void> } | undefined
  #records: Promise<Records> | undefined
  #rates: readonly DatedRate[] = []
  /** The rates that prices currently follow. */
  #applied: readonly DatedRate[] = this.#rates
  #lookTimer: NodeJS.Timeout | undefined
  #askTimer: NodeJS.Timeout | undefined
  #asking: Promise<void> | undefined
  #lastChange: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: RatedPricesOptions) {
    this.#options = options
  }

  /** The config with its prices. Without a known rate, the Central Bank is queried first. */
  async priced(config: Config): Promise<Config> {
    if (config.rates === undefined) return config
    await this.#read()
    if (this.#rates.length === 0) {
      await this.#ask(config)
      await this.#read()
    }
    if (this.#rates.length === 0) this.#options.bus.emit('alarm', 'rate_missing', {})
    return withRates(config, this.#rates)
  }

  /**
   * Puts another config in force with its prices, and updates them with the rate. Changes run one after the other, so
   * that an earlier one never takes effect last.
   */
  take(config: Config, apply: (config: Config) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await apply(await this.priced(config))
      this.watch(config, apply)
    })
  }

  /**
   * Starts updating the prices of this config, which is in force, with the rate.
   * @param apply applies the config again, with other prices
   */
  watch(config: Config, apply: (config: Config) => Promise<void>): void {
    this.#watched = { config, apply }
    this.#applied = this.#rates
    this.#stop()
    if (config.rates !== undefined && !this.#isClosed) this.#start(config)
  }

  /** Ends the work in progress. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stop()
    await this.#asking
  }

  #start(config: Config): void {
    const { askMs = askMsDefault, lookMs = lookMsDefault, log } = this.#options
    const tell = (error: unknown): void => log.warn({ error }, 'rates could not be looked at')
    this.#lookTimer = setInterval(() => void this.#look().catch(tell), lookMs)
    const ask = (): void =>
      void this.#ask(config)
        .then(() => this.#look())
        .catch(tell)
    this.#askTimer = setInterval(ask, askMs)
    this.#lookTimer.unref()
    this.#askTimer.unref()
    // The stored rate may be yesterday's; nothing waits for a new one.
    ask()
  }

  #stop(): void {
    clearInterval(this.#lookTimer)
    clearInterval(this.#askTimer)
    this.#lookTimer = undefined
    this.#askTimer = undefined
  }

  /** Reads the stored rates; if they are unchanged, the previous objects stay. */
  async #read(): Promise<void> {
    const { clock, records } = this.#options
    this.#records ??= records()
    const rates = ratesInForce(await readRates(await this.#records), clock.now())
    if (!isDeepStrictEqual(rates, this.#rates)) this.#rates = rates
  }

  #look(): Promise<void> {
    return this.#inTurn(async () => {
      const watched = this.#watched
      if (this.#isClosed || watched?.config.rates === undefined) return
      await this.#read()
      if (this.#rates === this.#applied) return
      await watched.apply(withRates(watched.config, this.#rates))
      this.#applied = this.#rates
      const { log } = this.#options
      log.info({ rates: this.#rates }, 'prices follow other rates')
    })
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#lastChange.then(change)
    this.#lastChange = done.catch(() => undefined)
    return done
  }

  /** Queries today's rate, and the next one. A failure is reported; the stored rates stay. */
  #ask(config: Config): Promise<void> {
    this.#asking ??= this.#askOnce(config).finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #askOnce(config: Config): Promise<void> {
    const { rates } = config
    if (rates === undefined || this.#isClosed) return
    const { bus, clock } = this.#options
    const find = (day?: string): Promise<DayRate> => findRate(config, rates, day)
    try {
      const today = moscowDay(clock.now())
      this.#records ??= this.#options.records()
      const rows = await readRates(await this.#records)
      // Without a rate for today the latest one may be tomorrow's.
      if (!rows.some(({ day }) => day <= today)) await this.#note(await find(today), rates)
      await this.#note(await find(), rates)
    } catch (error) {
      bus.emit('alarm', 'rate_failed', { url: rates.url.href, error })
    }
  }

  async #note(rate: DayRate, { changePercentMax }: RateFeed): Promise<void> {
    const { clock, bus, log } = this.#options
    this.#records ??= this.#options.records()
    const { became, before } = await noteRate(await this.#records, rate, changePercentMax, clock.now())
    if (became === 'known') return
    log.info({ ...rate, before, became }, 'the Central Bank has a new rate')
    if (became === 'held' && before !== undefined)
      bus.emit('alarm', 'rate_jump', { ...rate, before, changePercent: changePercent(before, rate.usdRub) })
  }
}

/** @param day the day of the rate; the latest by default */
async function findRate(
  config: Config,
  { url, egress }: RateFeed,
  day: string | undefined,
): Promise<DayRate> {
  const asked = new URL(url)
  if (day !== undefined) asked.searchParams.set('date_req', day.split('-').toReversed().join('/'))
  return readCbrRate(await download(asked, { config, egress, timeoutMs, bytesMax }))
}
