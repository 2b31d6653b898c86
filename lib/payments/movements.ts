import { budgetDay } from '../ledger/key-spending.ts'
import type { Micros } from '../money/amount.ts'
import { isMovement } from '../stores/records/ledger-entries.ts'
import type { RecordReader } from '../stores/records/records.ts'

/** A change of a balance other than a charge. */
export interface Movement {
  /** `payment:…`, `refund:…`, `credit:…`. */
  readonly id: string
  readonly kind: string
  readonly at: number
  readonly amountMicros: Micros
  readonly reason: string | null
  /** The balance directly after it. */
  readonly balanceMicros: Micros
}

/** The position of a movement in the list: several may have the same time. */
export type MovementPlace = Pick<Movement, 'at' | 'id'>

interface MovementPage {
  readonly before?: MovementPlace | undefined
  readonly limit: number
  readonly offset?: number
}

/** The most sums in one query: databases limit the columns of a result. */
const timesMax = 100

/** Reads movements of balances, without reading single charges. */
export class Movements {
  readonly #records: RecordReader

  constructor(records: RecordReader) {
    this.#records = records
  }

  /** The newest first: those before a position, or after `offset` newer ones. */
  async page(accountId: string, { before, limit, offset = 0 }: MovementPage): Promise<readonly Movement[]> {
    let query = this.#entries(accountId)
      .select(['exchange_id', 'kind', 'at', 'amount_micros', 'reason'])
      .orderBy('at', 'desc')
      .orderBy('exchange_id', 'desc')
      .limit(limit)
      .offset(offset)
    if (before !== undefined) {
      const { at, id } = before
      query = query
        .where('at', '<=', at)
        .where(row => row.or([row('at', '<', at), row('exchange_id', '<', id)]))
    }
    const rows = await this.#records.all(query)
    const [newest] = rows
    if (newest === undefined) return []
    let moved = await this.#movedUntil(accountId, { at: newest.at, id: newest.exchange_id })
    const charged = await this.#chargedUntil(accountId, [...new Set(rows.map(({ at }) => at))])
    return rows.map(({ exchange_id: id, kind, at, amount_micros: amountMicros, reason }) => {
      const balanceMicros = moved - (charged.get(at) ?? 0)
      moved -= amountMicros
      return { id, kind, at, amountMicros, reason, balanceMicros }
    })
  }

  #entries(accountId: string) {
    const { build, sql } = this.#records
    return build.selectFrom('entries').where('account_id', '=', accountId).where(isMovement(sql))
  }

  /** The sum of all movements up to a position, inclusive. */
  async #movedUntil(accountId: string, { at, id }: MovementPlace): Promise<Micros> {
    const [sum] = await this.#records.all(
      this.#entries(accountId)
        .select(row => row.fn.sum<number>('amount_micros').as('micros'))
        .where('at', '<=', at)
        .where(row => row.or([row('at', '<', at), row('exchange_id', '<=', id)])),
    )
    return Number(sum?.micros ?? 0)
  }

  /** The sum of charges up to each of some times: complete days by their totals, partial days by a query each. */
  async #chargedUntil(accountId: string, times: readonly number[]): Promise<ReadonlyMap<number, Micros>> {
    const days = await this.#records.all(
      this.#records.build
        .selectFrom('charge_sums')
        .select(row => [
          'day',
          row.fn.sum<number>('spent_micros').as('spent'),
          row.fn.min('first_id').as('first'),
          row.fn.max('last_id').as('last'),
        ])
        .where('account_id', '=', accountId)
        .groupBy('day')
        .orderBy('day'),
    )
    const charged = new Map<number, Micros>()
    for (const [day, ofDay] of Map.groupBy(times, budgetDay)) {
      const before = days.reduce((sum, one) => (one.day < day ? sum + Number(one.spent) : sum), 0)
      const begun = days.find(one => one.day === day)
      for (let from = 0; from < ofDay.length; from += timesMax) {
        const some = ofDay.slice(from, from + timesMax)
        const spent = begun === undefined ? [] : await this.#spentOn(accountId, begun, some)
        for (const [index, at] of some.entries()) charged.set(at, before + (spent[index] ?? 0))
      }
    }
    return charged
  }

  /** The sum of a day's charges, between two ids, up to each of some times. */
  async #spentOn(
    accountId: string,
    { first, last }: { readonly first: number; readonly last: number },
    times: readonly number[],
  ): Promise<readonly Micros[]> {
    const [sums] = await this.#records.all(
      this.#records.build
        .selectFrom('charges')
        .select(row =>
          times.map((at, index) =>
            row.fn
              .sum<number>(row.case().when('at', '<=', at).then(row.ref('amount_micros')).else(0).end())
              .as(`s${index}`),
          ),
        )
        .where('account_id', '=', accountId)
        .where('id', '>=', first)
        .where('id', '<=', last)
        .where('revision', '=', 0),
    )
    return times.map((_, index) => Number(sums?.[`s${index}`] ?? 0))
  }
}
