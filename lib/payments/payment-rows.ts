import type {
  Insertable,
  PaymentRow,
  ReceiptRow,
  RefundRow,
  Stored,
} from '../stores/records/payment-tables.ts'
import type { RecordReader, RecordStep, Records } from '../stores/records/records.ts'

/** A payment, refund or receipt as it is stored. */
export type Payment = Stored<PaymentRow>
export type Refund = Stored<RefundRow>
export type Receipt = Stored<ReceiptRow>

/** Which payments are asked for; absent means all. */
export interface PaymentFilter {
  readonly accountId?: string
  readonly state?: Payment['state']
  /** Milliseconds since the epoch. */
  readonly createdFrom?: number
  readonly createdUntil?: number
  /** Payments before this one. */
  readonly before?: string
  readonly limit?: number
}

/** Reads payments and what belongs to them. */
export class PaymentReader {
  readonly #records: RecordReader

  constructor(records: RecordReader) {
    this.#records = records
  }

  async payment(id: string): Promise<Payment | undefined> {
    const [row] = await this.#records.all(
      this.#records.build.selectFrom('payments').selectAll().where('id', '=', id),
    )
    return row
  }

  async paymentOf(provider: string, providerId: string): Promise<Payment | undefined> {
    const query = this.#records.build
      .selectFrom('payments')
      .selectAll()
      .where('provider', '=', provider)
      .where('provider_id', '=', providerId)
    return (await this.#records.all(query))[0]
  }

  /** The newest first. */
  payments(filter: PaymentFilter): Promise<readonly Payment[]> {
    const { accountId, state, createdFrom, createdUntil, before, limit } = filter
    let query = this.#records.build.selectFrom('payments').selectAll().orderBy('id', 'desc')
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    if (state !== undefined) query = query.where('state', '=', state)
    if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom)
    if (createdUntil !== undefined) query = query.where('created_at', '<', createdUntil)
    if (before !== undefined) query = query.where('id', '<', before)
    return this.#records.all(limit === undefined ? query : query.limit(limit))
  }

  /** Payments whose provider is to be asked by now. */
  duePayments(now: number, limit: number): Promise<readonly Payment[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('payments')
        .selectAll()
        .where('next_poll_at', 'is not', null)
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit),
    )
  }

  async refund(id: string): Promise<Refund | undefined> {
    const [row] = await this.#records.all(
      this.#records.build.selectFrom('refunds').selectAll().where('id', '=', id),
    )
    return row
  }

  async refundOf(providerId: string): Promise<Refund | undefined> {
    const query = this.#records.build.selectFrom('refunds').selectAll().where('provider_id', '=', providerId)
    return (await this.#records.all(query))[0]
  }

  /** The newest first. */
  refunds(accountId: string, limit: number): Promise<readonly Refund[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('refunds')
        .innerJoin('payments', 'payments.id', 'refunds.payment_id')
        .selectAll('refunds')
        .where('payments.account_id', '=', accountId)
        .orderBy('refunds.id', 'desc')
        .limit(limit),
    )
  }

  dueRefunds(now: number, limit: number): Promise<readonly Refund[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('refunds')
        .selectAll()
        .where('next_poll_at', 'is not', null)
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit),
    )
  }

  /** The newest first. */
  receipts(accountId: string, limit: number): Promise<readonly Receipt[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('receipts')
        .selectAll()
        .where('account_id', '=', accountId)
        .orderBy('id', 'desc')
        .limit(limit),
    )
  }

  async receipt(id: string): Promise<Receipt | undefined> {
    const [row] = await this.#records.all(
      this.#records.build.selectFrom('receipts').selectAll().where('id', '=', id),
    )
    return row
  }

  dueReceipts(now: number, limit: number): Promise<readonly Receipt[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('receipts')
        .selectAll()
        .where('next_poll_at', 'is not', null)
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit),
    )
  }

  /** How many payments are in each state, and when the oldest open one was made. */
  async summary(): Promise<PaymentSummary> {
    const { build } = this.#records
    const states = await this.#records.all(
      build
        .selectFrom('payments')
        .select(row => ['state', row.fn.countAll<number>().as('count')])
        .groupBy('state'),
    )
    const [open] = await this.#records.all(
      build
        .selectFrom('payments')
        .select(row => row.fn.min('created_at').as('at'))
        .where('next_poll_at', 'is not', null)
        .where('state', 'in', ['created', 'pending']),
    )
    const [failed] = await this.#records.all(
      build
        .selectFrom('receipts')
        .select(row => row.fn.countAll<number>().as('count'))
        .where('state', '=', 'canceled'),
    )
    const [different] = await this.#records.all(
      build
        .selectFrom('payments')
        .select(row => row.fn.countAll<number>().as('count'))
        .where('difference', 'is not', null),
    )
    return {
      byState: states.map(({ state, count }) => [state, Number(count)]),
      oldestOpenAt: open?.at ?? undefined,
      failedReceipts: Number(failed?.count ?? 0),
      differences: Number(different?.count ?? 0),
    }
  }
}

/** What an operator watches. */
export interface PaymentSummary {
  readonly byState: readonly (readonly [state: string, count: number])[]
  readonly oldestOpenAt: number | undefined
  readonly failedReceipts: number
  readonly differences: number
}

/** Reads and changes payments; each change takes the row in the state that it was read in. */
export class PaymentRows extends PaymentReader {
  readonly #records: Records

  constructor(records: Records) {
    super(records)
    this.#records = records
  }

  /** @throws RecordConflictError when a row was not as a step expected it */
  async write(steps: readonly RecordStep[]): Promise<void> {
    await this.#records.write(steps)
  }

  addPayment(row: Insertable<PaymentRow>): RecordStep {
    return { write: this.#records.build.insertInto('payments').values(row) }
  }

  changePayment({ id, state }: Payment, change: Partial<Insertable<PaymentRow>>): RecordStep {
    const write = this.#records.build
      .updateTable('payments')
      .set(change)
      .where('id', '=', id)
      .where('state', '=', state)
    return { write, rows: 1 }
  }

  /** Says when the provider is asked next; of several nodes one gets to ask now. */
  postponePayment({ id, next_poll_at }: Payment, until: number): RecordStep {
    const write = this.#records.build
      .updateTable('payments')
      .set(row => ({ next_poll_at: until, polls: row('polls', '+', 1) }))
      .where('id', '=', id)
      .where('next_poll_at', '=', next_poll_at)
    return { write, rows: 1 }
  }

  /** Counts money of a payment as given back, or no longer so; at most what it has. */
  addRefunded(paymentId: string, amountMicros: number): RecordStep {
    const write = this.#records.build
      .updateTable('payments')
      .set(row => ({ refunded_micros: row('refunded_micros', '+', amountMicros) }))
      .where('id', '=', paymentId)
      .where('state', '=', 'succeeded')
      .where(row => row(row('refunded_micros', '+', amountMicros), '<=', row.ref('amount_micros')))
    return { write, rows: 1 }
  }

  addRefund(row: Insertable<RefundRow>): RecordStep {
    return { write: this.#records.build.insertInto('refunds').values(row) }
  }

  changeRefund({ id, state }: Refund, change: Partial<Insertable<RefundRow>>): RecordStep {
    const write = this.#records.build
      .updateTable('refunds')
      .set(change)
      .where('id', '=', id)
      .where('state', '=', state)
    return { write, rows: 1 }
  }

  postponeRefund({ id, next_poll_at }: Refund, until: number): RecordStep {
    const write = this.#records.build
      .updateTable('refunds')
      .set(row => ({ next_poll_at: until, polls: row('polls', '+', 1) }))
      .where('id', '=', id)
      .where('next_poll_at', '=', next_poll_at)
    return { write, rows: 1 }
  }

  addReceipt(row: Insertable<ReceiptRow>): RecordStep {
    return { write: this.#records.build.insertInto('receipts').values(row) }
  }

  changeReceipt({ id, next_poll_at }: Receipt, change: Partial<Insertable<ReceiptRow>>): RecordStep {
    const write = this.#records.build
      .updateTable('receipts')
      .set(change)
      .where('id', '=', id)
      .where('next_poll_at', '=', next_poll_at)
    return { write, rows: 1 }
  }

  postponeReceipt(receipt: Receipt, until: number): RecordStep {
    return this.changeReceipt(receipt, { next_poll_at: until, attempts: receipt.attempts + 1 })
  }
}
