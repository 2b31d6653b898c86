import { accountNotFound } from '../../accounts/accounts.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Job, NewJob } from '../../ledger/job.ts'
import { balanceOf } from '../../ledger/balance-book.ts'
import {
  HoldResolvedError,
  LedgerUnavailableError,
  unavailable,
  type Balance,
  type ChargeRequest,
  type ChargeResult,
  type HeldSums,
  type Hold,
  type HoldRequest,
  type Ledger,
  type Micros,
  type ProviderObject,
} from '../../ledger/ledger.ts'
import { paidFlags, priceCharge } from '../../ledger/price-charge.ts'
import { type RiskRule, checkSums } from '../../ledger/risk.ts'
import { canonicalPrice } from '../../money/pricing.ts'
import type { Price } from '../../money/price.ts'
import { OpenList } from '../../pipeline/open-list.ts'
import { storable } from '../shared/store-operation.ts'
import { postgresCharge, holdMembers, holdRefusal, refusal, accountMoney } from './postgres-operation.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import { PostgresJobs } from './postgres-jobs.ts'
import type { StoreQueries, SqlStatement } from '../shared/store-queries.ts'
import { StoredLedger, holdMs, listedAt } from '../shared/stored-ledger.ts'
import { dropped, kept, writtenWithin } from '../shared/write-batch.ts'
import type { Ticket } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

/** Why a node that has lost its database accepts nothing new. */
export function lostTouch(): LedgerUnavailableError {
  return new LedgerUnavailableError('this node has lost touch with its database')
}

interface PostgresLedgerOptions {
  readonly queue: WriteQueue<PostgresOperation>
  readonly queries: StoreQueries
  /** Runs statements as one transaction; resolves with the rows of the last one. */
  readonly change: (statements: readonly SqlStatement[]) => Promise<readonly object[]>
  readonly clock: Clock
  /** A clock that cannot be set, by which holds expire. */
  readonly steadyClock: Clock
  /** How long an exchange waits for a store that cannot be written, before it is cut. */
  readonly patienceMs: number
  /** Names this node in the holds it places. */
  readonly owner: string
  /** Whether the other nodes know that this node is alive; if not, they release its holds. */
  readonly isHeard: () => boolean
  readonly riskRule: () => RiskRule
}

const done = Promise.resolve()

/** A hold that the database has written. */
class PostgresHold implements Hold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly budget?: NonNullable<HoldRequest['budget']>
  likelyMicros: Micros
  worstMicros: Micros
  /** By the steady clock. */
  readonly expiresAt: number
  readonly durable = done
  readonly isDurable = true
  state: 'open' | 'charged' | 'released' | 'job' = 'open'
  slot = -1

  constructor(
    { exchangeId, sequence, accountId, keyId, likelyMicros, budget }: HoldRequest,
    worstMicros: Micros,
    expiresAt: number,
  ) {
    this.exchangeId = exchangeId
    this.sequence = sequence
    this.accountId = accountId
    this.keyId = keyId
    this.likelyMicros = likelyMicros
    this.worstMicros = worstMicros
    this.expiresAt = expiresAt
    if (budget !== undefined) this.budget = budget
  }

  /** Results may arrive in another order than their requests were sent; no total ever falls. */
  raise({ likelyMicros, worstMicros }: HeldSums): void {
    this.likelyMicros = Math.max(this.likelyMicros, likelyMicros)
    this.worstMicros = Math.max(this.worstMicros, worstMicros)
  }
}

/** The ledger on PostgreSQL: the database decides, for all nodes, in batches. */
export class PostgresLedger extends StoredLedger implements Ledger {
  readonly #options: PostgresLedgerOptions
  readonly #queue: WriteQueue<PostgresOperation>
  readonly #jobs: PostgresJobs
  /** Holds that this node has placed. */
  readonly #openHolds = new OpenList<PostgresHold>()
  readonly #knownPrices = new Set<string>()

  readonly dueJobs: Ledger['dueJobs'] = (limit, leaseMs) => this.#jobs.due(limit, leaseMs)
  readonly releaseJob: Ledger['releaseJob'] = job => this.#jobs.release(job)
  readonly postponeJob: Ledger['postponeJob'] = (job, at) => this.#jobs.postpone(job, at)

  constructor(options: PostgresLedgerOptions) {
    super(options.queries, options.clock)
    this.#options = options
    this.#queue = options.queue
    const durable = (ticket: Ticket): Promise<PostgresAnswer> => this.#durable(ticket)
    this.#jobs = new PostgresJobs({ ...options, durable })
  }

  async placeHold(request: HoldRequest): Promise<Hold> {
    checkSums(request)
    const { exchangeId: exchange, sequence, accountId: account, keyId: key } = request
    if (this.#queue.failure !== undefined) throw unavailable(this.#queue.failure)
    if (this.#queue.isFull) throw new LedgerUnavailableError('too many operations wait to be written')
    const { clock, owner, isHeard, riskRule } = this.#options
    if (!isHeard()) throw lostTouch()
    const at = clock.now()
    const rule = riskRule()
    const place = { account, exchange, sequence, key, at, owner, expires: at + holdMs }
    const operation = { kind: 'hold', ...place, ...holdMembers(request, request, rule, at) } as const
    const ticket = this.#queue.add(operation, dropped)
    const failure = await ticket.batch.ended
    if (failure !== undefined) {
      this.#queue.add({ ...place, kind: 'abandon', amount: 0, state: 'released' }, kept)
      throw unavailable(failure)
    }
    const answer = answerTo(ticket)
    if (answer.ending !== 'held') throw holdRefusal(answer, request, request, rule, at)
    const expiresAt = this.#options.steadyClock.now() + holdMs
    const hold = new PostgresHold(request, answer.one ?? request.worstMicros, expiresAt)
    this.#openHolds.add(hold)
    return hold
  }

  async growHold(hold: Hold, totals: HeldSums): Promise<void> {
    checkSums(totals)
    const open = openHold(hold)
    if (totals.likelyMicros <= open.likelyMicros && totals.worstMicros <= open.worstMicros) return
    const { exchangeId: exchange, sequence, accountId: account, keyId: key } = open
    const at = this.#options.clock.now()
    const rule = this.#options.riskRule()
    const members = holdMembers(open, totals, rule, at)
    // Sends totals, so that the operation may be repeated when its result was lost.
    const ticket = this.#queue.add({ kind: 'grow', account, exchange, sequence, key, at, ...members }, kept)
    const answer = await this.#durable(ticket)
    if (answer.ending !== 'grown') throw holdRefusal(answer, open, totals, rule, at)
    open.raise({ likelyMicros: answer.one ?? 0, worstMicros: answer.two ?? 0 })
  }

  async charge(hold: Hold, request: ChargeRequest): Promise<ChargeResult> {
    const open = openHold(hold)
    const { lines, costMicros, flags } = priceCharge(request)
    this.#end(open, 'charged')
    this.#addPrices(request.lines.map(({ price }) => price))
    const at = this.#options.clock.now()
    const ticket = this.#queue.add(postgresCharge(open, at, request, { lines, costMicros, flags }), {
      isKept: true,
      // What will never be charged must not stay held.
      onRefused: () => void this.#release(open, 'released'),
    })
    const { ending, one, two } = await this.#durable(ticket)
    if (ending !== 'charged') throw refusal(ending, hold)
    const overrunMicros = two ?? 0
    return { amountMicros: one ?? 0, overrunMicros, flags: paidFlags(flags, overrunMicros) }
  }

  async release(hold: Hold): Promise<void> {
    const open = openHold(hold)
    this.#end(open, 'released')
    this.#release(open, 'released')
  }

  async openJob(hold: Hold, job: NewJob): Promise<boolean> {
    const open = openHold(hold)
    this.#end(open, 'job')
    return this.#jobs.open(open, job)
  }

  chargeJob(job: Job, charge: ChargeRequest): Promise<ChargeResult | undefined> {
    this.#addPrices(charge.lines.map(({ price }) => price))
    return this.#jobs.charge(job, charge)
  }

  async balance(accountId: string): Promise<Balance> {
    // Queued behind this node's own writes, so that it sees its own releases.
    const ticket = this.#queue.add({ kind: 'balance', account: accountId }, dropped)
    const failure = await ticket.batch.ended
    if (failure !== undefined) throw failure
    const answer = answerTo(ticket)
    if (answer.ending !== 'done') throw accountNotFound(accountId)
    return balanceOf(accountMoney(answer), this.#options.riskRule())
  }

  async recordPrices(prices: readonly Price[]): Promise<void> {
    await Promise.all(this.#addPrices(prices).map(ticket => this.#durable(ticket)))
  }

  /** Ends this node's holds that are older than any exchange can be; what they used is owed all the same. */
  async expireHolds(): Promise<number> {
    const now = this.#options.steadyClock.now()
    const expired = this.#openHolds.all().filter(hold => hold.expiresAt <= now)
    await this.endHolds(expired, 'expired')
    for (const hold of expired) this.#openHolds.delete(hold)
    return expired.length
  }

  /** Ends holds whose owner is gone; those that have ended since stay as they are. */
  async endHolds(holds: readonly HoldRequest[], state: 'released' | 'expired'): Promise<void> {
    await Promise.all(holds.map(hold => this.#durable(this.#release(hold, state))))
  }

  protected override storedId(id: string): string {
    return storable(id)
  }

  protected change(statements: readonly SqlStatement[]): Promise<readonly object[]> {
    return this.#options.change(statements)
  }

  protected async addObject(object: ProviderObject): Promise<void> {
    const { provider, kind, id, accountId, credential, exchangeId, dialect, facts } = object
    const at = this.#options.clock.now()
    const listed = listedAt(kind, at)
    const operation: PostgresOperation = {
      kind: 'object',
      account: accountId,
      exchange: exchangeId,
      at,
      provider,
      operation: kind,
      lines: storable(id),
      owner: credential,
      details: facts === undefined ? null : JSON.stringify(facts),
      ...(dialect !== undefined && { dialect }),
      ...(listed !== null && { due: listed }),
    }
    const { ending } = await this.#durable(this.#queue.add(operation, kept))
    if (ending !== 'done') throw accountNotFound(accountId)
  }

  #end(hold: PostgresHold, state: PostgresHold['state']): void {
    hold.state = state
    this.#openHolds.delete(hold)
  }

  #release(hold: HoldRequest, state: 'released' | 'expired'): Ticket {
    const { exchangeId: exchange, sequence, accountId: account } = hold
    const at = this.#options.clock.now()
    return this.#queue.add({ kind: 'release', account, exchange, sequence, at, state }, kept)
  }

  #addPrices(prices: readonly Price[]): Ticket[] {
    const unknown = prices.filter(price => !this.#knownPrices.has(price.hash))
    // In the same order on every node, so that two that start at the same time do not deadlock.
    return unknown
      .toSorted((a, b) => (a.hash < b.hash ? -1 : 1))
      .map(price => {
        this.#knownPrices.add(price.hash)
        const at = this.#options.clock.now()
        const lines = canonicalPrice(price)
        return this.#queue.add(
          { kind: 'price', account: '', exchange: price.hash, model: price.model, lines, at },
          kept,
        )
      })
  }

  /** Resolves when a kept operation is written, even if that takes more than one attempt. */
  async #durable(ticket: Ticket): Promise<PostgresAnswer> {
    const error = await writtenWithin(ticket.batch, this.#options.patienceMs)
    if (error !== undefined) throw error
    return answerTo(ticket)
  }
}

function openHold(hold: Hold): PostgresHold {
  if (!(hold instanceof PostgresHold)) throw new TypeError('the hold belongs to another ledger')
  if (hold.state !== 'open') throw new HoldResolvedError(hold, hold.state)
  return hold
}

/** @throws AccountError when the database refused this operation alone */
function answerTo(ticket: Ticket): PostgresAnswer {
  const refused = ticket.batch.refusalAt(ticket.index)
  if (refused !== undefined) throw refused
  return ticket.batch.answerAt(ticket.index) as PostgresAnswer
}
