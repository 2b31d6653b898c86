import { budgetDay } from '../ledger/key-spending.ts'
import type { Micros } from '../money/amount.ts'
import { isMovement } from '../stores/records/is-movement.ts'
import type { RecordReader } from '../stores/records/records.ts'

/** Something that moved a balance and was no charge. */
export interface Movement {
  /** `payment:…`, `refund:…`, `credit:…`. */
  readonly id: string
  readonly kind: string
  readonly at: number
  readonly amountMicros: Micros
  readonly reason: string | null
  /** The balance right after it. */
  readonly balanceMicros: Micros
}

/** Reads what moved balances, without reading charges one by one. */
export class Movements {
  readonly #records: RecordReader

  constructor(records: RecordReader) {
    this.#records = records
  }

  /** The newest first. */
  async page(
    accountId: string,
    {
      before = Number.MAX_SAFE_INTEGER,
      limit,
    }: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<readonly Movement[]> {
    const rows = await this.#records.all(
      this.#entries(accountId)
        .select(['exchange_id', 'kind', 'at', 'amount_micros', 'reason'])
        .where('at', '<', before)
        .orderBy('at', 'desc')
        .orderBy('exchange_id', 'desc')
        .limit(limit),
    )
    const movements: Movement[] = []
    let later = 0
    for (const [
      index,
      { exchange_id: id, kind, at, amount_micros: amountMicros, reason },
    ] of rows.entries()) {
      // Of several at one moment the balance after the last is known, and those before it follow.
      const isSameMoment = rows[index - 1]?.at === at
      const last = movements.at(-1)
      const balanceMicros =
        isSameMoment && last !== undefined ? last.balanceMicros - later : await this.#balanceAt(accountId, at)
      later = amountMicros
      movements.push({ id, kind, at, amountMicros, reason, balanceMicros })
    }
    return movements
  }

  /** What came in after a moment, less what went out again, one payment and its refunds apart. */
  async netSince(accountId: string, since: number, exceptIds: readonly string[]): Promise<Micros> {
    let query = this.#entries(accountId)
      .select(row => row.fn.sum<number>('amount_micros').as('micros'))
      .where('at', '>=', since)
    if (exceptIds.length > 0) query = query.where('exchange_id', 'not in', exceptIds)
    const [sum] = await this.#records.all(query)
    return Number(sum?.micros ?? 0)
  }

  #entries(accountId: string) {
    return this.#records.build.selectFrom('entries').where('account_id', '=', accountId).where(isMovement)
  }

  async #balanceAt(accountId: string, at: number): Promise<Micros> {
    const { build } = this.#records
    const [moved] = await this.#records.all(
      this.#entries(accountId)
        .select(row => row.fn.sum<number>('amount_micros').as('micros'))
        .where('at', '<=', at),
    )
    const day = budgetDay(at)
    const [spent] = await this.#records.all(
      build
        .selectFrom('charge_sums')
        .select(row => row.fn.sum<number>('spent_micros').as('micros'))
        .where('account_id', '=', accountId)
        .where('day', '<', day),
    )
    const [ids] = await this.#records.all(
      build
        .selectFrom('charge_sums')
        .select(row => [row.fn.min('first_id').as('first'), row.fn.max('last_id').as('last')])
        .where('account_id', '=', accountId)
        .where('day', '=', day),
    )
    const today =
      ids === undefined || ids.first === null
        ? 0
        : await this.#spentOn(accountId, { first: ids.first, last: ids.last }, at)
    return Number(moved?.micros ?? 0) - Number(spent?.micros ?? 0) - today
  }

  async #spentOn(accountId: string, ids: { first: number; last: number }, until: number): Promise<Micros> {
    const [sum] = await this.#records.all(
      this.#records.build
        .selectFrom('charges')
        .select(row => row.fn.sum<number>('amount_micros').as('micros'))
        .where('account_id', '=', accountId)
        .where('id', '>=', ids.first)
        .where('id', '<=', ids.last)
        .where('revision', '=', 0)
        .where('at', '<=', until),
    )
    return Number(sum?.micros ?? 0)
  }
}
