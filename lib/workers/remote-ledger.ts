import type { Job, NewJob } from '../ledger/job.ts'
import { HoldResolvedError, LedgerUnavailableError, unavailable } from '../ledger/ledger.ts'
import type {
  ChargeRequest,
  ChargeResult,
  HeldSums,
  Hold,
  HoldRequest,
  Ledger,
  Micros,
} from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import { errorOf, type Operations, type Peer } from './peer.ts'
import type { HoldNews, LedgerOperations, SentCharge } from './worker-operations.ts'

const done = Promise.resolve()

/** A hold placed in another process. News from there says when it is on the disk. */
class RemoteHold implements Hold {
  /** Identifies it between the two processes. */
  readonly id: number
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  likelyMicros: Micros
  worstMicros: Micros
  state: 'open' | 'charged' | 'released' | 'job' = 'open'
  isDurable = false
  failure: Error | undefined
  #waiting: PromiseWithResolvers<void> | undefined

  constructor(id: number, request: HoldRequest) {
    this.id = id
    this.exchangeId = request.exchangeId
    this.sequence = request.sequence
    this.accountId = request.accountId
    this.keyId = request.keyId
    this.likelyMicros = request.likelyMicros
    this.worstMicros = request.worstMicros
  }

  get durable(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    if (this.isDurable) return done
    this.#waiting ??= Promise.withResolvers<void>()
    return this.#waiting.promise
  }

  /** Results may arrive in another order than their calls; no total ever falls. */
  raise({ likelyMicros, worstMicros }: HeldSums): void {
    this.likelyMicros = Math.max(this.likelyMicros, likelyMicros)
    this.worstMicros = Math.max(this.worstMicros, worstMicros)
  }

  becomeDurable(): void {
    this.isDurable = true
    this.#waiting?.resolve()
  }

  /** It could not be written, and holds nothing any more. */
  fail(error: Error): void {
    this.isDurable = false
    this.failure = error
    this.#waiting?.reject(error)
  }

  /**
   * Called before it is resolved.
   * @throws HoldResolvedError when it is already resolved
   * @throws LedgerUnavailableError when it could not be written
   */
  checkOpen(): void {
    if (this.state !== 'open') throw new HoldResolvedError(this, this.state)
    if (this.failure !== undefined) throw unavailable(this.failure)
  }
}

/** A proxy for the ledger of another process, which alone decides and writes. */
export class RemoteLedger implements Ledger {
  readonly #peer: Peer<LedgerOperations, Operations>
  /** Holds that are not yet known to be on the disk. */
  readonly #unwritten = new Map<number, RemoteHold>()
  readonly #sentPrices = new Set<string>()
  readonly #recordedPrices = new Set<string>()
  #nextHoldId = 1

  constructor(peer: Peer<LedgerOperations, Operations>) {
    this.#peer = peer
  }

  readonly findJob: Ledger['findJob'] = ({ provider, kind, id }) =>
    this.#peer.ask('findJob', { provider, kind, id })
  readonly dueJobs: Ledger['dueJobs'] = (limit, leaseMs) => this.#peer.ask('dueJobs', limit, leaseMs)
  readonly releaseJob: Ledger['releaseJob'] = job => this.#peer.ask('releaseJob', job)
  readonly postponeJob: Ledger['postponeJob'] = (job, at) => this.#peer.ask('postponeJob', job, at)
  readonly findPrices: Ledger['findPrices'] = hashes => this.#peer.ask('findPrices', hashes)
  readonly recordObject: Ledger['recordObject'] = object => this.#peer.ask('recordObject', object)
  readonly findObject: Ledger['findObject'] = (...name) => this.#peer.ask('findObject', ...name)
  readonly listObjects: Ledger['listObjects'] = query => this.#peer.ask('listObjects', query)
  readonly unlistObject: Ledger['unlistObject'] = ({ provider, kind, id }) =>
    this.#peer.ask('unlistObject', { provider, kind, id })
  readonly reserveUpload: Ledger['reserveUpload'] = (upload, limits) =>
    this.#peer.ask('reserveUpload', upload, limits)
  readonly keepUpload: Ledger['keepUpload'] = (from, upload) => this.#peer.ask('keepUpload', from, upload)
  readonly findUsage: Ledger['findUsage'] = exchangeId => this.#peer.ask('findUsage', exchangeId)
  readonly balance: Ledger['balance'] = accountId => this.#peer.ask('balance', accountId)

  /** Receives the ledger process's news of holds. */
  readonly news: HoldNews = {
    holdDurable: id => this.#takeUnwritten(id)?.becomeDurable(),
    holdFailed: (id, error) => this.#takeUnwritten(id)?.fail(errorOf(error)),
  }

  async placeHold(request: HoldRequest): Promise<Hold> {
    const hold = new RemoteHold(this.#nextHoldId++, request)
    // News may arrive in the same message as the result, before the caller that awaits the result continues.
    this.#unwritten.set(hold.id, hold)
    try {
      const { worstMicros, isDurable } = await this.#peer.ask('placeHold', hold.id, request)
      hold.worstMicros = worstMicros
      if (isDurable) this.news.holdDurable(hold.id)
    } catch (error) {
      this.#unwritten.delete(hold.id)
      throw error
    }
    return hold
  }

  async growHold(hold: Hold, totals: HeldSums): Promise<void> {
    const open = ours(hold)
    open.checkOpen()
    open.raise(await this.#peer.ask('growHold', open.id, totals))
  }

  async charge(hold: Hold, charge: ChargeRequest): Promise<ChargeResult> {
    const open = ours(hold)
    open.checkOpen()
    return await this.#resolve(open, 'charged', () =>
      this.#peer.ask('charge', open.id, this.#withoutPrices(charge)),
    )
  }

  async release(hold: Hold): Promise<void> {
    const open = ours(hold)
    // A hold that could not be written holds nothing.
    if (open.state === 'open' && open.failure !== undefined) return
    open.checkOpen()
    try {
      await this.#resolve(open, 'released', () => this.#peer.ask('release', open.id))
    } catch (error) {
      // The failure of the hold may have been reported meanwhile.
      if (open.failure === undefined) throw error
    }
  }

  async openJob(hold: Hold, job: NewJob): Promise<boolean> {
    const open = ours(hold)
    open.checkOpen()
    return await this.#resolve(open, 'job', () => this.#peer.ask('openJob', open.id, job))
  }

  chargeJob(job: Job, charge: ChargeRequest): Promise<ChargeResult | undefined> {
    return this.#peer.ask('chargeJob', job, this.#withoutPrices(charge))
  }

  async recordPrices(prices: readonly Price[]): Promise<void> {
    const recorded = prices.filter(({ hash }) => !this.#recordedPrices.has(hash))
    if (recorded.length === 0) return
    for (const { hash } of recorded) this.#sentPrices.add(hash)
    await this.#peer.ask('recordPrices', recorded)
    for (const { hash } of recorded) this.#recordedPrices.add(hash)
  }

  #takeUnwritten(id: number): RemoteHold | undefined {
    const hold = this.#unwritten.get(id)
    this.#unwritten.delete(id)
    return hold
  }

  /** A hold counts as resolved from the moment of the call; only a failure before it was resolved leaves it open. */
  async #resolve<T>(hold: RemoteHold, state: RemoteHold['state'], ask: () => Promise<T>): Promise<T> {
    hold.state = state
    try {
      return await ask()
    } catch (error) {
      if (error instanceof HoldResolvedError || error instanceof LedgerUnavailableError) throw error
      hold.state = 'open'
      throw error
    }
  }

  #withoutPrices({ lines, ...charge }: ChargeRequest): SentCharge {
    const unsent: Price[] = []
    for (const { price } of lines) {
      if (this.#sentPrices.has(price.hash)) continue
      this.#sentPrices.add(price.hash)
      unsent.push(price)
    }
    if (unsent.length > 0) this.#peer.tell('knowPrices', unsent)
    return { ...charge, lines: lines.map(({ usage, price }) => ({ usage, priceHash: price.hash })) }
  }
}

function ours(hold: Hold): RemoteHold {
  if (!(hold instanceof RemoteHold)) throw new TypeError('the hold belongs to another ledger')
  return hold
}
