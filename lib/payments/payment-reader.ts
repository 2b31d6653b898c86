import type { PaymentRow, ReceiptRow, RefundRow } from '../stores/records/payment-tables.ts'
import type { Compilable, RecordReader } from '../stores/records/records.ts'

/** A payment, refund or receipt as it is stored. */
export type Payment = PaymentRow
export type Refund = RefundRow
export type Receipt = ReceiptRow

/** Selects payments; an absent condition matches all. */
interface PaymentFilter {
  readonly accountId?: string
  readonly state?: Payment['state']
  /** Milliseconds since the epoch. */
  readonly createdFrom?: number
  readonly createdUntil?: number
  /** Only those that differ at the provider. */
  readonly isDifferent?: boolean
  /** By time unless set. */
  readonly sort?: 'amount'
  /** Descending unless set: the latest, or largest, first. */
  readonly isAscending?: boolean
  readonly limit?: number
  readonly offset?: number
}

/** Reads payments and their refunds and receipts. */
export class PaymentReader {
  readonly #records: RecordReader
  readonly #build: RecordReader['build']

  constructor(records: RecordReader) {
    this.#records = records
    this.#build = records.build
  }

  payment(id: string): Promise<Payment | undefined> {
    return this.#first(this.#build.selectFrom('payments').selectAll().where('id', '=', id))
  }

  paymentOf(provider: string, providerId: string): Promise<Payment | undefined> {
    const ofProvider = this.#build.selectFrom('payments').selectAll().where('provider', '=', provider)
    return this.#first(ofProvider.where('provider_id', '=', providerId))
  }

  /** The newest first unless the filter says otherwise. */
  payments(filter: PaymentFilter): Promise<readonly Payment[]> {
    const { accountId, state, createdFrom, createdUntil, isDifferent = false, limit } = filter
    const order = filter.isAscending === true ? 'asc' : 'desc'
    let query = this.#build.selectFrom('payments').selectAll()
    if (filter.sort === 'amount') query = query.orderBy('amount_micros', order)
    query = query.orderBy('id', order)
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    if (state !== undefined) query = query.where('state', '=', state)
    if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom)
    if (createdUntil !== undefined) query = query.where('created_at', '<', createdUntil)
    if (isDifferent) query = query.where('difference', 'is not', null)
    return this.#records.all(limit === undefined ? query : query.limit(limit).offset(filter.offset ?? 0))
  }

  /** Those among some payments that were charged automatically to a saved card. */
  async automaticAmong(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return []
    const among = this.#build.selectFrom('payments').select('id').where('id', 'in', ids)
    return (await this.#records.all(among.where('origin', '=', 'automatic'))).map(({ id }) => id)
  }

  /** Payments due for a poll of the provider. */
  duePayments(now: number, limit: number): Promise<readonly Payment[]> {
    const due = this.#build.selectFrom('payments').selectAll().where('next_poll_at', '<=', now)
    return this.#records.all(due.orderBy('next_poll_at').limit(limit))
  }

  /** Payments credited before a time that are neither fully refunded nor fully in receipts of use. */
  unusedPayments(accountId: string, creditedBefore: number): Promise<readonly Payment[]> {
    return this.#records.all(
      this.#build
        .selectFrom('payments')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('state', '=', 'succeeded')
        .where('credited_at', '<', creditedBefore)
        .where(row => row('amount_micros', '>', row('refunded_micros', '+', row.ref('offset_micros'))))
        .orderBy('credited_at')
        .orderBy('id'),
    )
  }

  refund(id: string): Promise<Refund | undefined> {
    return this.#first(this.#build.selectFrom('refunds').selectAll().where('id', '=', id))
  }

  refundOf(providerId: string): Promise<Refund | undefined> {
    return this.#first(this.#build.selectFrom('refunds').selectAll().where('provider_id', '=', providerId))
  }

  dueRefunds(now: number, limit: number): Promise<readonly Refund[]> {
    const due = this.#build.selectFrom('refunds').selectAll().where('next_poll_at', '<=', now)
    return this.#records.all(due.orderBy('next_poll_at').limit(limit))
  }

  /** The newest first; with `before`, only older ones than that. */
  receipts(accountId: string, limit: number, before?: string): Promise<readonly Receipt[]> {
    const own = this.#build.selectFrom('receipts').selectAll().where('account_id', '=', accountId)
    const newest = own.orderBy('id', 'desc').limit(limit)
    return this.#records.all(before === undefined ? newest : newest.where('id', '<', before))
  }

  receipt(id: string): Promise<Receipt | undefined> {
    return this.#first(this.#build.selectFrom('receipts').selectAll().where('id', '=', id))
  }

  /** Whether the gateway has a receipt with this id of the provider. */
  async hasReceipt(providerId: string): Promise<boolean> {
    const query = this.#build.selectFrom('receipts').select('id').where('provider_id', '=', providerId)
    return (await this.#first(query)) !== undefined
  }

  /** Receipts of a payment and of its refunds, the oldest first. */
  receiptsOf(paymentId: string): Promise<readonly Receipt[]> {
    const own = this.#build.selectFrom('receipts').selectAll().where('payment_id', '=', paymentId)
    return this.#records.all(own.orderBy('id'))
  }

  /** Refunds of a payment, the oldest first. */
  refundsOf(paymentId: string): Promise<readonly Refund[]> {
    const own = this.#build.selectFrom('refunds').selectAll().where('payment_id', '=', paymentId)
    return this.#records.all(own.orderBy('id'))
  }

  dueReceipts(now: number, limit: number): Promise<readonly Receipt[]> {
    const due = this.#build.selectFrom('receipts').selectAll().where('next_poll_at', '<=', now)
    return this.#records.all(due.orderBy('next_poll_at').limit(limit))
  }

  /** Counts by state, and the creation time of the oldest open payment or refund. */
  async summary(): Promise<PaymentSummary> {
    const build = this.#build
    const count = async (table: 'payments' | 'refunds' | 'receipts') => {
      const rows = await this.#records.all(
        build
          .selectFrom(table)
          .select(row => ['state', row.fn.countAll<number>().as('count')])
          .groupBy('state'),
      )
      return new Map<string, number>(rows.map(row => [row.state, Number(row.count)]))
    }
    const opened = await Promise.all(
      (['payments', 'refunds'] as const).map(table =>
        this.#records.all(
          build
            .selectFrom(table)
            .select(row => row.fn.min('created_at').as('at'))
            .where('next_poll_at', 'is not', null)
            .where('state', 'in', ['created', 'pending']),
        ),
      ),
    )
    const ages = opened.flat().flatMap(({ at }) => (at === null ? [] : [at]))
    const counted = build.selectFrom('payments').select(row => row.fn.countAll<number>().as('count'))
    const different = await this.#first(counted.where('difference', 'is not', null))
    return {
      payments: await count('payments'),
      refunds: await count('refunds'),
      receipts: await count('receipts'),
      oldestOpenAt: ages.length === 0 ? undefined : Math.min(...ages),
      differences: Number(different?.count ?? 0),
    }
  }

  async #first<Row>(query: Compilable<Row>): Promise<Row | undefined> {
    const [row] = await this.#records.all(query)
    return row
  }
}

/** Figures for the metrics. */
interface PaymentSummary {
  readonly payments: ReadonlyMap<string, number>
  readonly refunds: ReadonlyMap<string, number>
  readonly receipts: ReadonlyMap<string, number>
  readonly oldestOpenAt: number | undefined
  readonly differences: number
}
