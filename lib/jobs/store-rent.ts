import type { Config } from '../config/config.ts'
import { BalanceInsufficientError, KeyBudgetExceededError, type Hold, type Ledger } from '../ledger/ledger.ts'
import { withCredential } from '../models/choose-provider.ts'
import { ModelDirectory } from '../models/model-directory.ts'
import { priceAtMost } from '../money/price-line.ts'
import { priceInForce, type Price } from '../money/price.ts'
import { nothingRead } from '../dialects/measure.ts'
import type { UsageReading } from '../money/usage.ts'
import type { Clock } from '../platform/clock.ts'
import { newId } from '../platform/new-id.ts'
import { settleJob } from '../settlement/settle-job.ts'
import { askProvider } from '../upstream/ask-provider.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { askJob } from './ask-job.ts'
import type { JobEnd } from './end-job.ts'
import type { Job, NewJob, JobLedger } from '../ledger/job.ts'
import type { RentKind } from './submitted-job.ts'

/** How many days a store stays when its next day cannot be held: the hold always covers that many. */
const daysHeld = 3
/** Between attempts to hold the next day, and between polls without a result. */
const retryMs = 3_600_000

interface StoreRentOptions {
  readonly config: Config
  readonly ledger: JobLedger & Pick<Ledger, 'placeHold' | 'recordPrices'>
  readonly upstreams: Upstreams
  readonly clock: Clock
  readonly onEnd: (end: JobEnd) => void
  readonly onFailure: (job: Job | undefined, error: unknown) => void
  readonly onAlarm: (code: 'vector_store_unpaid' | 'vector_store_deleted', job: Job) => void
}

/** What a store holds, in gigabytes; `gone` when it no longer exists. */
type Held = number | 'gone' | 'unknown'

/**
 * Storage that a provider bills by the day for as long as it exists. Each day of a store is a job: it has a hold for
 * some days ahead, and when the day begins it is charged by what the store holds then, and the next job is opened. A
 * store whose account has no money for that stays as long as the hold lasts, and is then deleted at its provider.
 */
export class StoreRent {
  readonly #options: StoreRentOptions
  readonly #directory: ModelDirectory

  constructor(options: StoreRentOptions) {
    this.#options = options
    this.#directory = new ModelDirectory(options.config)
  }

  /**
   * Handles a day of a store that has begun, or that still has to be paid.
   * @throws Error when its provider cannot be reached
   */
  async look(job: Job, kind: RentKind, signal: AbortSignal): Promise<void> {
    const { ledger, clock } = this.#options
    const held = await this.#ask(job, signal)
    const now = clock.now()
    const index = indexOf(job)
    const nextId = `${storeOf(job)}#${index + 1}`
    // Opened by a process that did not charge this day; the days from then on belong to that job.
    const opened = await ledger.findJob({ ...job, id: nextId })
    const waitedMs = (opened?.createdAt ?? now) - job.createdAt - kind.rentMs
    const days = 1 + Math.max(0, Math.floor(waitedMs / kind.rentMs))
    const paidBefore = job.facts.units?.storageGigabyteDays ?? 0
    // What was in the store when it was created still has its first day to pay.
    const first = index === 0 ? paidBefore : 0
    if (held === 'unknown') return this.#askLater(job, first, now)
    // Days that passed while waiting were used.
    if (held === 'gone') return this.#end(job, first + (job.polls > 0 && index > 0 ? paidBefore * days : 0))
    const owed = first + held * days
    if (opened !== undefined || (await this.#openNext(job, kind, nextId, held))) return this.#end(job, owed)
    const prices = await ledger.findPrices(Object.values(job.facts.priceVersions))
    const [price] = prices.values()
    if (price === undefined || costOf(price, owed) <= job.heldMicros) {
      if (job.polls === 0 && held > 0) this.#options.onAlarm('vector_store_unpaid', job)
      await ledger.postponeJob(job, now + retryMs)
      return
    }
    await this.#delete(job, kind, signal)
    this.#options.onAlarm('vector_store_deleted', job)
    await this.#end(job, first + held * (days - 1))
  }

  /** Nothing more is held for a store that could not be polled for long. */
  async #askLater(job: Job, first: number, now: number): Promise<void> {
    if (now < job.deadlineAt) {
      await this.#options.ledger.postponeJob(job, Math.min(now + retryMs, job.deadlineAt))
      return
    }
    this.#options.onFailure(job, new Error('its provider has not said for days what the store holds'))
    await this.#end(job, first)
  }

  async #ask(job: Job, signal: AbortSignal): Promise<Held> {
    const { config, upstreams, onFailure } = this.#options
    const ask = () => askJob({ config, upstreams, onFailure, signal }, job)
    let response = await ask()
    // A store that is gone is never polled again: one wrong response must not cause that.
    if (response === 'gone') response = await ask()
    if (typeof response === 'string') return response
    if (response.reading.job?.state === 'failed') return 'gone'
    return response.reading.lines[0]?.meters.storageGigabyteDays ?? 'unknown'
  }

  /** Holds for the days to come and opens their job; resolves with false when there is no money for them. */
  async #openNext(job: Job, kind: RentKind, id: string, gigabytes: number): Promise<boolean> {
    const { ledger, clock } = this.#options
    const now = clock.now()
    const price = await this.#priceNow(job, now)
    if (price === undefined) return false
    const hold = await this.#hold(job, costOf(price, gigabytes * daysHeld))
    if (hold === undefined) return false
    await ledger.recordPrices([price])
    const { provider, credential, dialect, operation, model, facts } = job
    const next: NewJob = {
      provider,
      kind: job.kind,
      id,
      credential,
      dialect,
      operation,
      model,
      facts: {
        upstreamModel: facts.upstreamModel,
        priceVersions: { '': price.hash },
        units: { storageGigabyteDays: gigabytes },
      },
      nextPollAt: now + kind.rentMs,
      deadlineAt: now + kind.durationMsMax,
    }
    await ledger.openJob(hold, next)
    return true
  }

  async #hold({ accountId, keyId }: Job, micros: number): Promise<Hold | undefined> {
    const likelyMicros = Math.max(1, micros)
    const request = { exchangeId: newId(), sequence: 0, accountId, keyId }
    try {
      return await this.#options.ledger.placeHold({ ...request, likelyMicros, worstMicros: likelyMicros })
    } catch (error) {
      if (error instanceof BalanceInsufficientError || error instanceof KeyBudgetExceededError)
        return undefined
      throw error
    }
  }

  /** A store outlives changes of prices: each day has the price of its beginning. */
  async #priceNow({ model, provider, facts }: Job, now: number): Promise<Price | undefined> {
    const entry = this.#directory.resolve(model, provider)?.entry
    const price = entry && priceInForce(entry.prices, now)
    if (price !== undefined) return price
    const known = await this.#options.ledger.findPrices(Object.values(facts.priceVersions))
    return known.values().next().value
  }

  async #delete(job: Job, kind: RentKind, signal: AbortSignal): Promise<void> {
    const { config, upstreams } = this.#options
    const chosen = withCredential(config.providers.get(job.provider), job.dialect, job.credential)
    if (chosen === undefined) throw new Error(`the credential "${job.credential}" is gone`)
    let status = 0
    const path = kind.path(job.id, chosen.provider.kind)
    await askProvider(
      upstreams,
      { chosen, dialectName: job.dialect, path, signal, method: 'DELETE' },
      {
        onHead(head) {
          status = head.status
          return false
        },
        onData: () => undefined,
      },
    )
    if ((status < 200 || status > 299) && status !== 404) throw new Error(`it cannot be deleted: ${status}`)
  }

  /** An empty store owes nothing, and gets no charge. */
  async #end(job: Job, gigabyteDays: number): Promise<void> {
    const { ledger, onEnd } = this.#options
    const storageGigabyteDays = inMillionths(gigabyteDays)
    if (storageGigabyteDays === 0) {
      await ledger.releaseJob(job)
      return
    }
    const prices = await ledger.findPrices(Object.values(job.facts.priceVersions))
    const isEstimated = indexOf(job) === 0 && job.facts.units !== undefined
    const reading: UsageReading = {
      ...nothingRead,
      lines: [{ meters: { storageGigabyteDays } }],
      isTerminal: true,
      flags: isEstimated ? ['size_estimated'] : [],
    }
    const charge = settleJob(job, { hasFailed: false, reading }, prices)
    const result = await ledger.chargeJob(job, charge)
    if (result !== undefined) onEnd({ job, charged: { charge, result } })
  }
}

function costOf(price: Price, storageGigabyteDays: number): number {
  return priceAtMost(price, { meters: { storageGigabyteDays: inMillionths(storageGigabyteDays) } })
}

/** Units have six decimals, and floating-point sums of them may have more. */
function inMillionths(units: number): number {
  return Math.round(units * 1e6) / 1e6
}

/** The store of a day: `vs_1` of `vs_1#3`. */
export function storeOf({ id }: Pick<Job, 'id'>): string {
  return id.slice(0, id.lastIndexOf('#'))
}

/** How many days of the store were before this one. */
function indexOf({ id }: Job): number {
  return Number(id.slice(id.lastIndexOf('#') + 1))
}
