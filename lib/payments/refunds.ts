import { AccountError } from '../accounts/accounts.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks, microsPerKopeck } from '../money/kopecks.ts'
import { newId } from '../new-id.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordStep } from '../stores/records/records.ts'
import { ProviderError } from './payment-provider.ts'
import type { ProviderRefund } from './payment-provider.ts'
import { refundBody } from './payment-request.ts'
import type { Payment, Refund } from './payment-rows.ts'
import { decideRefund, idempotenceMs, nextPollAt } from './payment-rules.ts'
import { registeredReceipt } from './registered-receipt.ts'
import { receiptSettings } from './payments.ts'
import type { PaymentContext } from './payments.ts'

const day = 86_400_000
/** How long after a payment its provider sends money back. */
const refundableMs = 3 * 365 * day

interface RefundsOptions extends PaymentContext {
  /** What of a payment is not spent. */
  readonly unspent: (payment: Payment) => Promise<Micros>
}

/** Refunds: money leaves the balance before the provider is asked, and comes back when the provider cancels. */
export class Refunds {
  readonly #options: RefundsOptions

  constructor(options: RefundsOptions) {
    this.#options = options
  }

  /**
   * Sends back a part of a payment that is not spent.
   * @throws AccountError payment_not_found, refund_late, refund_amount, balance_insufficient
   */
  async create(refund: {
    readonly paymentId: string
    readonly amountMicros: Micros
    readonly reason: string
  }): Promise<Refund> {
    const { rows, clock, settings } = this.#options
    const { paymentId, amountMicros, reason } = refund
    const payment = await rows.payment(paymentId)
    const now = clock.now()
    const providerPaymentId = await this.#checkRefund(payment, refund, now)
    const id = newId()
    const { account_id: accountId, receipt_email: email } = payment as Payment
    await rows.write([
      rows.addRefunded(paymentId, amountMicros),
      rows.addRefund({
        id,
        payment_id: paymentId,
        account_id: accountId,
        provider_id: null,
        state: 'created',
        amount_micros: amountMicros,
        reason,
        idempotence_key: newId(),
        request: refundBody({ id, providerPaymentId, amountMicros, email }, receiptSettings(settings(), now)),
        requested_at: now,
        failure: null,
        created_at: now,
        ended_at: null,
        next_poll_at: nextPollAt(now, now, 0),
      }),
      { debit: { id: `refund:${id}`, accountId, amountMicros, reason, at: now, source: 'payment' } },
    ])
    await this.check(await this.#read(id))
    return this.#read(id)
  }

  /** Asks the provider how a refund stands, and acts by it. What cannot be found out now is asked again later. */
  async check(refund: Refund): Promise<void> {
    if (refund.next_poll_at === null) return
    try {
      await this.#ask(refund)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      this.#options.log.warn(
        { error, refund: refund.id },
        'how a refund stands could not be found out; it is asked again',
      )
    }
  }

  /** @returns whether the refund is ours */
  async settleById(providerId: string): Promise<boolean> {
    const refund = await this.#options.rows.refundOf(providerId)
    if (refund === undefined) return false
    await this.#settle(refund, await this.#options.provider.refund(providerId))
    return true
  }

  async #checkRefund(
    payment: Payment | undefined,
    { paymentId, amountMicros }: { readonly paymentId: string; readonly amountMicros: Micros },
    now: number,
  ): Promise<string> {
    if (payment === undefined || payment.provider_id === null || payment.credited_at === null) {
      throw new AccountError(
        'payment_not_found',
        `there is no paid payment ${paymentId}: gateway payment list shows them`,
      )
    }
    if (now - payment.created_at > refundableMs) {
      throw new AccountError(
        'refund_late',
        `the payment ${paymentId} is older than three years, and its provider sends nothing back: pay by bank transfer, then book it with gateway account debit`,
      )
    }
    const unspent = Math.floor((await this.#options.unspent(payment)) / microsPerKopeck) * microsPerKopeck
    if (amountMicros % microsPerKopeck !== 0 || amountMicros <= 0 || amountMicros > unspent) {
      throw new AccountError(
        'refund_amount',
        `${formatWholeKopecks(unspent)} roubles of the payment ${paymentId} are not spent: refund whole kopecks, at most so many`,
      )
    }
    return payment.provider_id
  }

  async #ask(refund: Refund): Promise<void> {
    const { provider, clock, rows } = this.#options
    if (refund.provider_id !== null) return this.#settle(refund, await provider.refund(refund.provider_id))
    const payment = await rows.payment(refund.payment_id)
    const sentAt = refund.requested_at ?? refund.created_at
    if (clock.now() - sentAt > idempotenceMs) return this.#search(refund, payment?.provider_id ?? '')
    const { request: body, idempotence_key: idempotenceKey } = refund
    try {
      await this.#settle(refund, await provider.createRefund({ body, idempotenceKey }))
    } catch (error) {
      if (!(error instanceof ProviderError) || (error.failure !== 'refused' && error.failure !== 'not_found'))
        throw error
      this.#options.log.error({ error, refund: refund.id }, 'the payment provider refused a refund')
      await this.#giveBack(refund, null, 'merchant/refused')
    }
  }

  /** Looks for a refund whose creation was never answered, among those of its payment. */
  async #search(refund: Refund, providerPaymentId: string): Promise<void> {
    const { provider, rows } = this.#options
    for (const found of await provider.refundsOf(providerPaymentId)) {
      const isKnown = (await rows.refundOf(found.id)) !== undefined
      if (!isKnown && found.amountMicros === refund.amount_micros) return this.#settle(refund, found)
    }
    await this.#giveBack(refund, null, 'merchant/not_created')
  }

  async #settle(refund: Refund, found: ProviderRefund): Promise<void> {
    const { rows, clock, log } = this.#options
    const payment = await rows.payment(refund.payment_id)
    const known = {
      state: refund.state,
      amountMicros: refund.amount_micros,
      providerPaymentId: payment?.provider_id ?? null,
    }
    const decision = decideRefund(known, found)
    if (decision === 'give-back')
      return this.#giveBack(refund, found.id, found.failure ?? 'refund_network/general_decline')
    if (decision === 'alarm')
      log.error({ refund: refund.id }, 'a refund is not what its provider says; nothing was changed')
    if (decision !== 'pend' && decision !== 'finish') return
    const change =
      decision === 'pend'
        ? ({ state: 'pending', provider_id: found.id } as const)
        : ({ state: 'succeeded', provider_id: found.id, ended_at: clock.now(), next_poll_at: null } as const)
    await this.#write([
      rows.changeRefund(refund, change),
      ...(decision === 'finish' ? registeredReceipt(rows, { kind: 'refund', refund, now: clock.now() }) : []),
    ])
  }

  async #giveBack(refund: Refund, providerId: string | null, failure: string): Promise<void> {
    const { rows, clock, log } = this.#options
    const now = clock.now()
    const { id, account_id: accountId, amount_micros: amountMicros } = refund
    const ended = {
      state: 'canceled',
      failure,
      provider_id: providerId,
      ended_at: now,
      next_poll_at: null,
    } as const
    const credit = {
      id: `refund-canceled:${id}`,
      accountId,
      amountMicros,
      reason: `refund ${id} was canceled`,
      at: now,
    }
    log.warn({ refund: id, failure }, 'a refund was canceled; the money is on the balance again')
    await this.#write([
      rows.addRefunded(refund.payment_id, -amountMicros),
      rows.changeRefund(refund, ended),
      { credit: { ...credit, source: 'payment' } },
    ])
  }

  /** What somebody else did meanwhile was decided by the same answer. */
  async #write(steps: readonly RecordStep[]): Promise<void> {
    try {
      await this.#options.rows.write(steps)
    } catch (error) {
      if (!(error instanceof RecordConflictError)) throw error
      this.#options.log.info({ error }, 'a refund was settled by somebody else')
    }
  }

  async #read(id: string): Promise<Refund> {
    const refund = await this.#options.rows.refund(id)
    if (refund === undefined) throw new AccountError('refund_not_found', `there is no refund ${id}`)
    return refund
  }
}
