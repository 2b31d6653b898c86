import { HoldResolvedError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { ChargeRequest, HeldSums, Hold, HoldRequest, Ledger } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import { errorMessage } from './peer.ts'
import type { HoldNews, LedgerOperations, PlacedHold, SentCharge } from './worker-operations.ts'

/** Sends news of holds to the worker. */
type TellNews = <Name extends keyof HoldNews>(name: Name, ...values: Parameters<HoldNews[Name]>) => void

/** Runs the ledger operations that one worker requests, and tracks its holds, which end with it. */
export class LedgerServer {
  readonly #ledger: Ledger
  readonly #tell: TellNews
  readonly #holds = new Map<number, Hold>()
  readonly #prices = new Map<string, Price>()
  #isClosed = false

  constructor(ledger: Ledger, tell: TellNews) {
    this.#ledger = ledger
    this.#tell = tell
  }

  readonly operations: LedgerOperations = {
    placeHold: (id, request) => this.#placeHold(id, request),
    growHold: (id, totals) => this.#growHold(id, totals),
    charge: (id, charge) => this.#resolve(id, hold => this.#ledger.charge(hold, this.#withPrices(charge))),
    release: id => this.#resolve(id, hold => this.#ledger.release(hold)),
    openJob: (id, job) => this.#resolve(id, hold => this.#ledger.openJob(hold, job)),
    knowPrices: prices => this.#knowPrices(prices),
    recordPrices: async prices => {
      this.#knowPrices(prices)
      await this.#ledger.recordPrices(prices)
    },
    recordObject: object => this.#ledger.recordObject(object),
    findObject: (provider, kind, id) => this.#ledger.findObject(provider, kind, id),
    listObjects: query => this.#ledger.listObjects(query),
    unlistObject: name => this.#ledger.unlistObject(name),
    reserveUpload: (upload, limits) => this.#ledger.reserveUpload(upload, limits),
    keepUpload: (from, upload) => this.#ledger.keepUpload(from, upload),
    findUsage: exchangeId => this.#ledger.findUsage(exchangeId),
    balance: accountId => this.#ledger.balance(accountId),
    findJob: name => this.#ledger.findJob(name),
    dueJobs: (limit, leaseMs) => this.#ledger.dueJobs(limit, leaseMs),
    chargeJob: async (job, charge) => await this.#ledger.chargeJob(job, this.#withPrices(charge)),
    releaseJob: job => this.#ledger.releaseJob(job),
    postponeJob: (job, nextPollAt) => this.#ledger.postponeJob(job, nextPollAt),
    findPrices: hashes => this.#ledger.findPrices(hashes),
  }

  /** Releases what the worker held, after it is gone. Returns the holds. */
  async close(): Promise<readonly HoldRequest[]> {
    this.#isClosed = true
    const holds = [...this.#holds.values()]
    this.#holds.clear()
    const isReleased = await Promise.all(holds.map(hold => this.#giveBack(hold)))
    return holds.filter((_, index) => isReleased[index])
  }

  async #placeHold(id: number, request: HoldRequest): Promise<PlacedHold> {
    const hold = await this.#ledger.placeHold(request)
    if (this.#isClosed) {
      await this.#giveBack(hold)
      return { worstMicros: 0, isDurable: false }
    }
    const { worstMicros } = hold
    this.#holds.set(id, hold)
    if (hold.isDurable) return { worstMicros, isDurable: true }
    hold.durable.then(
      () => this.#tell('holdDurable', id),
      (error: unknown) => {
        // The hold failed and holds nothing any more.
        this.#holds.delete(id)
        this.#tell('holdFailed', id, errorMessage(error))
      },
    )
    return { worstMicros, isDurable: false }
  }

  async #growHold(id: number, totals: HeldSums): Promise<HeldSums> {
    const hold = this.#holds.get(id)
    if (hold === undefined) throw new LedgerUnavailableError(`the hold ${id} of this worker is not known`)
    await this.#ledger.growHold(hold, totals)
    return { likelyMicros: hold.likelyMicros, worstMicros: hold.worstMicros }
  }

  async #resolve<T>(id: number, resolve: (hold: Hold) => Promise<T>): Promise<T> {
    const hold = this.#holds.get(id)
    if (hold === undefined) throw new LedgerUnavailableError(`the hold ${id} of this worker is not known`)
    this.#holds.delete(id)
    try {
      return await resolve(hold)
    } catch (error) {
      // A failure before it was resolved leaves it open.
      if (error instanceof HoldResolvedError || error instanceof LedgerUnavailableError) throw error
      if (this.#isClosed) await this.#giveBack(hold)
      else this.#holds.set(id, hold)
      throw error
    }
  }

  /** @returns false when it was already resolved */
  async #giveBack(hold: Hold): Promise<boolean> {
    try {
      await this.#ledger.release(hold)
      return true
    } catch (error) {
      if (error instanceof HoldResolvedError) return false
      throw error
    }
  }

  #knowPrices(prices: readonly Price[]): void {
    for (const price of prices) this.#prices.set(price.hash, price)
  }

  #withPrices({ lines, ...charge }: SentCharge): ChargeRequest {
    return {
      ...charge,
      lines: lines.map(({ usage, priceHash }) => {
        const price = this.#prices.get(priceHash)
        if (price === undefined) throw new Error(`no price ${priceHash} was sent`)
        return { usage, price }
      }),
    }
  }
}
