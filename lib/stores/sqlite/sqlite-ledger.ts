import type { Clock } from '../../platform/clock.ts'
import type { Job, NewJob } from '../../ledger/job.ts'
import type { BalanceBook } from '../../ledger/balance-book.ts'
import type { KeySpending } from '../../ledger/key-spending.ts'
import {
  LedgerUnavailableError,
  unavailable,
  type Balance,
  type ChargeRequest,
  type ChargeResult,
  type HeldSums,
  type Hold,
  type HoldRequest,
  type Ledger,
  type ProviderObject,
} from '../../ledger/ledger.ts'
import { checkSums, countedWorst } from '../../ledger/risk.ts'
import { paidFlags, priceCharge } from '../../ledger/price-charge.ts'
import { canonicalPrice } from '../../money/pricing.ts'
import type { Price } from '../../money/price.ts'
import { OpenList } from '../../pipeline/open-list.ts'
import { chargeOperation, releaseOperation, type StoreSnapshot } from '../shared/store-operation.ts'
import { SqliteHold, openHold } from './sqlite-hold.ts'
import type { HoldKeeper, HoldState } from './sqlite-hold.ts'
import { SqliteJobs } from './sqlite-jobs.ts'
import type { StoreQueries, SqlStatement } from '../shared/store-queries.ts'
import { StoredLedger, holdMs, listedAt } from '../shared/stored-ledger.ts'
import { kept, written, writtenWithin } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'
import type { OperationOwner, Ticket } from '../shared/write-batch.ts'

const nothing: HeldSums = { likelyMicros: 0, worstMicros: 0 }

interface SqliteLedgerOptions {
  readonly queue: WriteQueue
  readonly book: BalanceBook
  readonly spending: KeySpending
  /** Reads on this thread. */
  readonly reader: Pick<StoreQueries, 'all'>
  readonly priceHashes: Iterable<string>
  /** The holds of open jobs of previous processes. */
  readonly jobHolds: StoreSnapshot['jobHolds']
  readonly isStrict: boolean
  readonly clock: Clock
  /** A clock that cannot be set, by which holds expire. */
  readonly steadyClock: Clock
  /** How long an exchange waits for a store that cannot be written, before it is cut. */
  readonly patienceMs: number
  /** Names this process in the holds it places. */
  readonly owner: string
}

/** The ledger on SQLite: it decides in memory, synchronously, and writes through the queue. */
export class SqliteLedger extends StoredLedger implements Ledger, HoldKeeper {
  readonly isStrict: boolean
  readonly patienceMs: number
  readonly #options: SqliteLedgerOptions
  readonly #queue: WriteQueue
  readonly #book: BalanceBook
  readonly #knownPrices: Set<string>
  readonly #openHolds = new OpenList<SqliteHold>()
  readonly #jobs: SqliteJobs

  readonly dueJobs: Ledger['dueJobs'] = (limit, leaseMs) => this.#jobs.due(limit, leaseMs)
  readonly releaseJob: Ledger['releaseJob'] = job => this.#jobs.release(job)
  readonly postponeJob: Ledger['postponeJob'] = (job, at) => this.#jobs.postpone(job, at)

  constructor(options: SqliteLedgerOptions) {
    super(options.reader, options.clock)
    this.isStrict = options.isStrict
    this.patienceMs = options.patienceMs
    this.#options = options
    this.#queue = options.queue
    this.#book = options.book
    this.#knownPrices = new Set(options.priceHashes)
    const durable = (ticket: Ticket): Promise<void> => this.#durable(ticket)
    this.#jobs = new SqliteJobs({ ...options, holds: options.jobHolds, durable })
  }

  placeHold(request: HoldRequest): Hold {
    checkSums(request)
    const { accountId, keyId } = request
    if (this.#queue.failure !== undefined) throw unavailable(this.#queue.failure)
    if (this.#queue.isFull) throw new LedgerUnavailableError('too many operations wait to be written')
    const at = this.#options.clock.now()
    const { spending, steadyClock, owner } = this.#options
    const riskMicros = this.#book.risk(accountId)
    const worstMicros = countedWorst(request, riskMicros)
    const hold = new SqliteHold(request, worstMicros, steadyClock.now() + holdMs, this)
    if (request.budget !== undefined) spending.check(keyId, request.budget, hold, riskMicros, at)
    this.#book.hold(accountId, hold)
    this.#openHolds.add(hold)
    spending.hold(keyId, hold)
    hold.attachTo(this.#queue.add(hold.operation(owner, at, at + holdMs), hold))
    return hold
  }

  growHold(hold: Hold, totals: HeldSums): void {
    checkSums(totals)
    const open = openHold(hold)
    const { exchangeId, sequence, accountId, keyId, budget } = open
    let likelyMicros = Math.max(0, totals.likelyMicros - open.likelyMicros)
    const worstMicros = Math.max(0, totals.worstMicros - open.worstMicros)
    if (likelyMicros === 0 && worstMicros === 0) return
    const { spending, clock } = this.#options
    if (budget !== undefined) {
      const riskMicros = this.#book.risk(accountId)
      const more = { likelyMicros, worstMicros }
      const roomMicros = spending.checkGrowth(keyId, budget, more, riskMicros, clock.now())
      likelyMicros = Math.min(likelyMicros, roomMicros)
    }
    const raised = this.#book.grow(accountId, { likelyMicros, worstMicros })
    open.raise(raised)
    spending.hold(keyId, raised)
    // Decided in memory, and recovery releases the hold whatever its sums are, so this does not wait for the disk.
    const sums = { likelyMicros: open.likelyMicros, worstMicros: open.worstMicros }
    this.#queue.addUnhurried({ kind: 'grow', exchangeId, sequence, ...sums }, kept)
  }

  async charge(hold: Hold, request: ChargeRequest): Promise<ChargeResult> {
    const open = openHold(hold, ['open', 'expired'])
    const { lines, costMicros, flags } = priceCharge(request)
    // An expired hold has released its money; what was used is owed all the same.
    const held = open.state === 'expired' ? nothing : open
    if (open.state === 'expired') open.state = 'charged'
    else this.#end(open, 'charged')
    const { amountMicros, overrunMicros } = this.#book.settle(open.accountId, held, costMicros)
    const result = { amountMicros, overrunMicros, flags: paidFlags(flags, overrunMicros) }
    const at = this.#options.clock.now()
    open.charged = { costMicros, spent: this.#options.spending.spend(open.keyId, costMicros, at) }
    this.#addPrices(request)
    const ticket = this.#queue.add(chargeOperation(open, at, request, lines, result), open)
    if (this.isStrict) await this.#durable(ticket)
    return result
  }

  async release(hold: Hold): Promise<void> {
    if (hold instanceof SqliteHold && (hold.state === 'failed' || hold.state === 'expired')) return
    this.#release(openHold(hold), 'released')
  }

  async openJob(hold: Hold, job: NewJob): Promise<boolean> {
    const open = openHold(hold)
    if (this.#jobs.has(job)) {
      this.#release(open, 'released')
      return false
    }
    open.state = 'job'
    this.#openHolds.delete(open)
    return this.#jobs.open(open, open, job)
  }

  chargeJob(job: Job, charge: ChargeRequest): Promise<ChargeResult | undefined> {
    this.#addPrices(charge)
    return this.#jobs.charge(job, charge)
  }

  heldOf(keyId: string): HeldSums {
    return this.#jobs.heldOf(keyId, this.#openHolds.all())
  }

  async balance(accountId: string): Promise<Balance> {
    return this.#book.balance(accountId)
  }

  async recordPrices(prices: readonly Price[]): Promise<void> {
    const tickets: Ticket[] = []
    for (const price of prices) {
      if (!this.#knownPrices.has(price.hash)) tickets.push(this.#addPrice(price, kept))
    }
    await Promise.all(tickets.map(written))
  }

  /** Ends the holds that are older than any exchange can be; returns their number. */
  expireHolds(): number {
    const now = this.#options.steadyClock.now()
    let count = 0
    for (const hold of this.#openHolds.all()) {
      if (hold.expiresAt > now) continue
      this.#release(hold, 'expired')
      count += 1
    }
    return count
  }

  dropHold(hold: SqliteHold): void {
    this.#end(hold, 'failed')
    this.#book.unhold(hold.accountId, hold)
  }

  abandonHold(hold: SqliteHold): void {
    this.dropHold(hold)
    // The hold itself still waits to be written, since a charge may follow it; so its release must be written, too.
    this.#queue.add(releaseOperation(hold, 'released', this.#options.clock.now()), kept)
  }

  dropJob(hold: SqliteHold): void {
    hold.state = 'failed'
    this.#jobs.drop(hold)
  }

  undoCharge(hold: SqliteHold): void {
    hold.state = 'failed'
    if (hold.charged === undefined) return
    this.#book.undoCharge(hold.accountId, hold.charged.costMicros)
    this.#options.spending.unspend(hold.charged.spent)
  }

  protected async addObject(object: ProviderObject): Promise<void> {
    const { provider, kind: objectKind, id, accountId, credential, exchangeId, dialect = null } = object
    const facts = object.facts === undefined ? null : JSON.stringify(object.facts)
    const at = this.#options.clock.now()
    const name = { kind: 'object', provider, objectKind, id } as const
    const owner = { accountId, credential, exchangeId }
    const operation = { ...name, ...owner, dialect, facts, at, listedAt: listedAt(objectKind, at) }
    await this.#durable(this.#queue.add(operation, kept))
  }

  protected async change(statements: readonly SqlStatement[]): Promise<readonly object[]> {
    const ticket = this.#queue.add({ kind: 'statements', statements }, kept)
    await this.#durable(ticket)
    return ticket.batch.answerAt(ticket.index) as readonly object[]
  }

  /** Resolves when a kept operation is on disk, even if that takes more than one attempt. */
  async #durable(ticket: Ticket): Promise<void> {
    const error = await writtenWithin(ticket.batch, this.patienceMs)
    const failure = error ?? ticket.batch.refusalAt(ticket.index)
    if (failure !== undefined) throw failure
  }

  #release(hold: SqliteHold, state: 'released' | 'expired'): void {
    this.#end(hold, state)
    this.#book.unhold(hold.accountId, hold)
    this.#queue.add(releaseOperation(hold, state, this.#options.clock.now()), kept)
  }

  #end(hold: SqliteHold, state: HoldState): void {
    hold.state = state
    this.#openHolds.delete(hold)
    this.#options.spending.unhold(hold.keyId, hold)
  }

  #addPrices({ lines }: ChargeRequest): void {
    for (const { price } of lines) if (!this.#knownPrices.has(price.hash)) this.#addPrice(price, kept)
  }

  #addPrice(price: Price, owner: OperationOwner): Ticket {
    this.#knownPrices.add(price.hash)
    const at = this.#options.clock.now()
    const { hash, model } = price
    return this.#queue.add({ kind: 'price', hash, model, body: canonicalPrice(price), at }, owner)
  }
}
