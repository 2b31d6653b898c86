import type { PaymentRow, ReceiptRow, RefundRow, Stored } from '../stores/records/payment-tables.ts'
import type { RecordReader } from '../stores/records/records.ts'

/** A payment, refund or receipt as it is stored. */
export type Payment = Stored<PaymentRow>
export type Refund = Stored<RefundRow>
export type Receipt = Stored<ReceiptRow>

/** Which payments are asked for; absent means all. */
interface PaymentFilter {
  readonly accountId?: string
  readonly state?: Payment['state']
  /** Milliseconds since the epoch. */
  readonly createdFrom?: number
  readonly createdUntil?: number
  /** Only those of which the provider says something else. */
  readonly isDifferent?: boolean
  /** Payments before this one. */
  readonly before?: string
  /** By time unless said. */
  readonly sort?: 'amount'
  /** The latest, or largest, first unless said. */
  readonly isAscending?: boolean
  readonly limit?: number
  readonly offset?: number
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

  /** The newest first, unless said. */
  payments(filter: PaymentFilter): Promise<readonly Payment[]> {
    const { accountId, state, createdFrom, createdUntil, isDifferent = false, before, limit } = filter
    const order = filter.isAscending === true ? 'asc' : 'desc'
    let query = this.#records.build.selectFrom('payments').selectAll()
    if (filter.sort === 'amount') query = query.orderBy('amount_micros', order)
    query = query.orderBy('id', order)
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    if (state !== undefined) query = query.where('state', '=', state)
    if (createdFrom !== undefined) query = query.where('created_at', '>=', createdFrom)
    if (createdUntil !== undefined) query = query.where('created_at', '<', createdUntil)
    if (isDifferent) query = query.where('difference', 'is not', null)
    if (before !== undefined) query = query.where('id', '<', before)
    return this.#records.all(limit === undefined ? query : query.limit(limit).offset(filter.offset ?? 0))
  }

  /** Which of some payments were made by a saved card, with nobody to ask. */
  async automaticAmong(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return []
    const query = this.#records.build
      .selectFrom('payments')
      .select('id')
      .where('id', 'in', ids)
      .where('origin', '=', 'automatic')
    return (await this.#records.all(query)).map(({ id }) => id)
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

  /** Payments credited before a time of which something is neither returned nor in a receipt of use. */
  unusedPayments(accountId: string, creditedBefore: number): Promise<readonly Payment[]> {
    return this.#records.all(
      this.#records.build
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

  /** The newest first, those before one where one is named. */
  receipts(accountId: string, limit: number, before?: string): Promise<readonly Receipt[]> {
    const query = this.#records.build
      .selectFrom('receipts')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id', 'desc')
      .limit(limit)
    return this.#records.all(before === undefined ? query : query.where('id', '<', before))
  }

  async receipt(id: string): Promise<Receipt | undefined> {
    const [row] = await this.#records.all(
      this.#records.build.selectFrom('receipts').selectAll().where('id', '=', id),
    )
    return row
  }

  /** Whether a receipt of the provider is one of ours. */
  async hasReceipt(providerId: string): Promise<boolean> {
    const query = this.#records.build
      .selectFrom('receipts')
      .select('id')
      .where('provider_id', '=', providerId)
    return (await this.#records.all(query)).length > 0
  }

  /** Receipts of a payment and of its refunds, the oldest first. */
  receiptsOf(paymentId: string): Promise<readonly Receipt[]> {
    return this.#records.all(
      this.#records.build
        .selectFrom('receipts')
        .selectAll()
        .where('payment_id', '=', paymentId)
        .orderBy('id'),
    )
  }

  /** Refunds of a payment, the oldest first. */
  refundsOf(paymentId: string): Promise<readonly Refund[]> {
    return this.#records.all(
      this.#records.build.selectFrom('refunds').selectAll().where('payment_id', '=', paymentId).orderBy('id'),
    )
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

  /** How many are in each state, and when the oldest open one was made. */
  async summary(): Promise<PaymentSummary> {
    const { build } = this.#records
    const count = async (
      table: 'payments' | 'refunds' | 'receipts',
    ): Promise<ReadonlyMap<string, number>> => {
      const rows = await this.#records.all(
        build
          .selectFrom(table)
          .select(row => ['state', row.fn.countAll<number>().as('count')])
          .groupBy('state'),
      )
      return new Map(rows.map(row => [row.state, Number(row.count)]))
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
    const [different] = await this.#records.all(
      build
        .selectFrom('payments')
        .select(row => row.fn.countAll<number>().as('count'))
        .where('difference', 'is not', null),
    )
    return {
      payments: await count('payments'),
      refunds: await count('refunds'),
      receipts: await count('receipts'),
      oldestOpenAt: ages.length === 0 ? undefined : Math.min(...ages),
      differences: Number(different?.count ?? 0),
    }
  }
}

/** What an operator watches. */
interface PaymentSummary {
  readonly payments: ReadonlyMap<string, number>
  readonly refunds: ReadonlyMap<string, number>
  readonly receipts: ReadonlyMap<string, number>
  readonly oldestOpenAt: number | undefined
  readonly differences: number
}
