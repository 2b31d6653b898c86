import type { Micros } from '../money/amount.ts'
import type { AutoTopUpRow, NoticeRow, SavedCardRow } from '../stores/records/payment-tables.ts'
import type { RecordStep, Records } from '../stores/records/records.ts'
import { failureMeaning, failuresMax, retryMs, dueAutoTopUps } from './auto-top-up-rules.ts'
import type { Payment } from './payment-reader.ts'

export type SavedCard = SavedCardRow
export type AutoTopUp = AutoTopUpRow

/** The failure of an attempt whose card was unlinked before the charge was sent. */
export const unlinked = 'merchant/unlinked'

/** Kinds of notices to the owner. */
type NoticeKind = 'auto-paid' | 'auto-failed' | 'auto-limit' | 'auto-on' | 'auto-off' | 'card-unlinked'

/** Saved cards and automatic top-ups as they are stored. */
export class AutoTopUpRows {
  readonly #records: Records
  readonly #build: Records['build']

  constructor(records: Records) {
    this.#records = records
    this.#build = records.build
  }

  async setting(accountId: string): Promise<AutoTopUp | undefined> {
    const query = this.#build.selectFrom('auto_top_ups').selectAll().where('account_id', '=', accountId)
    return (await this.#records.all(query))[0]
  }

  /** Cards that can be charged, the newest first. */
  cards(accountId: string): Promise<readonly SavedCard[]> {
    return this.#records.all(
      this.#build
        .selectFrom('saved_cards')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('forgotten_at', 'is', null)
        .orderBy('saved_at', 'desc'),
    )
  }

  async card(id: string): Promise<SavedCard | undefined> {
    const query = this.#build.selectFrom('saved_cards').selectAll().where('id', '=', id)
    return (await this.#records.all(query))[0]
  }

  due(now: number, limit: number): Promise<readonly AutoTopUp[]> {
    return dueAutoTopUps(this.#records, now, limit)
  }

  /** The sum of automatic top-ups since a time, open ones included. */
  async takenSince(accountId: string, since: number): Promise<Micros> {
    const [sum] = await this.#records.all(
      this.#build
        .selectFrom('payments')
        .select(row => row.fn.sum<number>('amount_micros').as('micros'))
        .where('account_id', '=', accountId)
        .where('origin', '=', 'automatic')
        .where('state', '<>', 'canceled')
        .where('created_at', '>=', since),
    )
    return Number(sum?.micros ?? 0)
  }

  /**
   * Starts an attempt, or postpones it. Of several nodes one succeeds, and only with the revision of the setting that
   * it read. The account may have been blocked after that read.
   */
  take({ account_id, revision }: AutoTopUp, nextAt: number): RecordStep {
    const write = this.#build
      .updateTable('auto_top_ups')
      .set({ revision: revision + 1, next_at: nextAt })
      .where('account_id', '=', account_id)
      .where('revision', '=', revision)
      .where('state', '=', 'on')
      .where(row =>
        row.exists(
          row
            .selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'auto_top_ups.account_id')
            .where('accounts.blocked_at', 'is', null),
        ),
      )
    return { write, rows: 1 }
  }

  /** The steps to write with the payment of an ended automatic top-up; `failure` is why it was canceled. */
  ended(payment: Payment, now: number, failure?: string): readonly RecordStep[] {
    if (payment.origin !== 'automatic') return []
    const { account_id: accountId, id, saved_method_id: cardId } = payment
    const kind = failure === undefined ? 'auto-paid' : 'auto-failed'
    const notice = this.addNotice({ id: `${kind}:${id}`, accountId, kind, subject: id, now })
    if (failure === undefined) {
      const write = this.#build
        .updateTable('auto_top_ups')
        .set({ failures: 0 })
        .where('account_id', '=', accountId)
      return [{ write }, notice]
    }
    const { isFinal, forgetsCard } = failureMeaning(failure)
    const forgotten =
      forgetsCard && cardId !== null
        ? [this.#forget(cardId, 'provider', now), this.#offWith(cardId, now)]
        : []
    const isUnlinked = failure === unlinked
    return [
      this.#failed(payment, now + retryMs, isFinal ? 1 : failuresMax),
      ...forgotten,
      ...(isUnlinked ? [] : [notice]),
    ]
  }

  saveCard(card: Omit<SavedCard, 'forgotten_at' | 'forgotten_by'>): RecordStep {
    return { write: this.#build.insertInto('saved_cards').values(card), rows: 1 }
  }

  /** Forgets a card at once, which switches off its automatic top-up. */
  unlink({ id, account_id: accountId, title }: SavedCard, now: number): readonly RecordStep[] {
    return [
      { ...this.#forget(id, 'owner', now), rows: 1 },
      this.#offWith(id, now),
      this.addNotice({ id: `card-unlinked:${id}`, accountId, kind: 'card-unlinked', subject: title, now }),
    ]
  }

  /** Forgets all cards of an account that is closed; there may be none. */
  unlinkAll(accountId: string, now: number): readonly RecordStep[] {
    const forget = this.#build
      .updateTable('saved_cards')
      .set({ method_id: null, forgotten_at: now, forgotten_by: 'owner' })
      .where('account_id', '=', accountId)
      .where('forgotten_at', 'is', null)
    return [{ write: forget }, { write: this.#off(accountId, now) }]
  }

  /** Switches automatic top-up on with these settings, whatever its state was. */
  switchOn(setting: {
    readonly accountId: string
    readonly cardId: string
    readonly belowMicros: Micros
    readonly amountMicros: Micros
    readonly monthMaxMicros: Micros
    readonly now: number
  }): RecordStep {
    const { accountId, cardId, belowMicros, amountMicros, monthMaxMicros, now } = setting
    const said = {
      card_id: cardId,
      state: 'on',
      off_reason: null,
      below_micros: belowMicros,
      amount_micros: amountMicros,
      month_max_micros: monthMaxMicros,
      failures: 0,
      next_at: now,
      changed_at: now,
    } as const
    const write = this.#build
      .insertInto('auto_top_ups')
      .values({ account_id: accountId, revision: 0, ...said })
      .onConflict(conflict =>
        conflict
          .column('account_id')
          .doUpdateSet(row => ({ ...said, revision: row('auto_top_ups.revision', '+', 1) })),
      )
    return { write, rows: 1 }
  }

  /** Switches it off; matches no row when it is already off. */
  switchOff(accountId: string, now: number): RecordStep {
    return { write: this.#off(accountId, now), rows: 1 }
  }

  addNotice(notice: {
    readonly id: string
    readonly accountId: string
    readonly kind: NoticeKind
    readonly subject: string
    readonly now: number
  }): RecordStep {
    const { id, accountId, kind, subject, now } = notice
    const row: NoticeRow = { id, account_id: accountId, kind, subject, created_at: now, next_at: now }
    return {
      write: this.#build
        .insertInto('notices')
        .values(row)
        .onConflict(one => one.doNothing()),
    }
  }

  async write(steps: readonly RecordStep[]): Promise<void> {
    await this.#records.write(steps)
  }

  /** Counts a failure; at `failuresMax` it is switched off. */
  #failed(
    { account_id: accountId, saved_method_id: cardId }: Payment,
    nextAt: number,
    max: number,
  ): RecordStep {
    const write = this.#build
      .updateTable('auto_top_ups')
      .set(row => ({
        failures: row('failures', '+', 1),
        next_at: nextAt,
        state: row
          .case()
          .when('failures', '>=', max - 1)
          .then('off' as const)
          .else(row.ref('state'))
          .end(),
        off_reason: row
          .case()
          .when(row.and([row('failures', '>=', max - 1), row('state', '=', 'on')]))
          .then('failures' as const)
          .else(row.ref('off_reason'))
          .end(),
      }))
      .where('account_id', '=', accountId)
      // A different card, chosen meanwhile, has not failed.
      .where('card_id', '=', cardId ?? '')
    return { write }
  }

  #forget(cardId: string, by: 'owner' | 'provider', now: number): RecordStep {
    const write = this.#build
      .updateTable('saved_cards')
      .set({ method_id: null, forgotten_at: now, forgotten_by: by })
      .where('id', '=', cardId)
      .where('forgotten_at', 'is', null)
    return { write }
  }

  #off(accountId: string, now: number) {
    return this.#switchedOff('owner', now).where('account_id', '=', accountId).where('state', '=', 'on')
  }

  #offWith(cardId: string, now: number): RecordStep {
    return { write: this.#switchedOff('card', now).where('card_id', '=', cardId) }
  }

  #switchedOff(off_reason: 'owner' | 'card', now: number) {
    return this.#build
      .updateTable('auto_top_ups')
      .set(row => ({ state: 'off', off_reason, revision: row('revision', '+', 1), changed_at: now }))
  }
}
