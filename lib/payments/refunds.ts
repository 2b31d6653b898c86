import { AccountError } from '../accounts/accounts.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks, microsPerKopeck } from '../money/kopecks.ts'
import { newId } from '../platform/new-id.ts'
import { RecordConflictError, retryConflicts, type RecordStep } from '../stores/records/records.ts'
import { ProviderError, type ProviderRefund } from './payment-provider.ts'
import { refundBody, receiptSettings } from './payment-request.ts'
import type { Payment, Refund } from './payment-reader.ts'
import { decideRefund, idempotenceMs, nextPollAt } from './payment-rules.ts'
import { registeredReceipt } from './payment-rows.ts'
import type { PaymentUse } from './offsets.ts'
import type { PaymentContext, Payments } from './payments.ts'

const day = 86_400_000
/** How long after a payment the provider accepts refunds. */
const refundableMs = 3 * 365 * day

/** Concurrent refunds of one payment are rare. */
const attemptsMax = 5

/** A requested refund of a part of a payment. */
interface WantedRefund {
  readonly paymentId: string
  readonly amountMicros: Micros
  /** Shown to the customer. */
  readonly reason: string
  /** For the operator log; undefined when the account's owner requested the refund. */
  readonly operator?: string | undefined
}

interface RefundsOptions extends PaymentContext {
  readonly use: PaymentUse
  readonly payments: Pick<Payments, 'differs'>
}

/** The difference recorded for a payment of which the provider refunded money that was not requested here. */
export function returnedElsewhere(amount: string): string {
  return `${amount} roubles of it were returned there, and not from here`
}

/** Refunds: the balance is debited before the provider is called, and credited again if the provider cancels. */
export class Refunds {
  readonly #options: RefundsOptions

  constructor(options: RefundsOptions) {
    this.#options = options
  }

  /**
   * Refunds an unspent part of a payment.
   * @throws AccountError payment_not_found, refund_late, refund_amount, balance_insufficient
   */
  async create(wanted: WantedRefund): Promise<Refund> {
    // After a concurrent refund of the same payment, the unspent amount is computed again.
    return retryConflicts(attemptsMax, async () => {
      const id = await this.#save(wanted)
      await this.check(await this.#read(id))
      return this.#read(id)
    })
  }

  /** Queries a refund's state and applies it; after a failure it is polled again later. */
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

  /**
   * Applies the provider's state of a refund. A refund that the provider made by itself is not booked; it raises an
   * alarm.
   * @returns whether the gateway created the refund or its payment
   */
  async settleById(providerId: string): Promise<boolean> {
    const { rows, provider, alarm, payments } = this.#options
    const refund = await rows.refundOf(providerId)
    const found = await provider.refund(providerId)
    const known = refund ?? (await rows.refund(found.refundId ?? ''))
    if (known !== undefined) {
      await this.#settle(known, found)
      return true
    }
    const payment = await rows.paymentOf(provider.name, found.providerPaymentId)
    if (payment === undefined) return false
    const amount = formatWholeKopecks(found.amountMicros)
    alarm('refund_unknown', { payment: payment.id, account: payment.account_id, amount, refund: providerId })
    await payments.differs(payment, returnedElsewhere(amount))
    return true
  }

  /** Books the money out together with the refund's row; then the provider is polled. */
  async #save({ paymentId, amountMicros, reason, operator }: WantedRefund): Promise<string> {
    const { rows, clock, settings } = this.#options
    const now = clock.now()
    const payment = await this.#refundable({ paymentId, amountMicros }, now)
    const { account_id: accountId, receipt_email: email, providerPaymentId } = payment
    const id = newId()
    // A receipt of return repeats the receipt of the payment, whatever the current rates are.
    const receipt = receiptSettings(settings(), payment.created_at)
    await rows.write([
      rows.addRefunded(paymentId, amountMicros),
      rows.addRefund({
        id,
        payment_id: paymentId,
        account_id: accountId,
        state: 'created',
        amount_micros: amountMicros,
        reason,
        idempotence_key: newId(),
        request: refundBody({ id, providerPaymentId, amountMicros, email }, receipt),
        requested_at: now,
        created_at: now,
        next_poll_at: nextPollAt(now, now, 0),
      }),
      ...rows.addAction({
        operator,
        action: 'refund',
        accountId,
        reason: `${paymentId}, ${formatWholeKopecks(amountMicros)} ₽: ${reason}`,
        at: now,
      }),
      { debit: { id: `refund:${id}`, accountId, amountMicros, reason, at: now, source: 'payment' } },
    ])
    return id
  }

  async #refundable(
    { paymentId, amountMicros }: Pick<WantedRefund, 'paymentId' | 'amountMicros'>,
    now: number,
  ): Promise<Payment & { readonly providerPaymentId: string }> {
    const payment = await this.#options.rows.payment(paymentId)
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
    const unspent = Math.floor((await this.#options.use.unspent(payment)) / microsPerKopeck) * microsPerKopeck
    if (amountMicros % microsPerKopeck !== 0 || amountMicros <= 0 || amountMicros > unspent) {
      throw new AccountError(
        'refund_amount',
        `${formatWholeKopecks(unspent)} roubles of the payment ${paymentId} are not spent: refund whole kopecks, at most so many`,
        { unspent },
      )
    }
    return { ...payment, providerPaymentId: payment.provider_id }
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
      this.#options.alarm('refund_refused', { error, refund: refund.id })
      await this.#giveBack(refund, null, 'merchant/refused')
    }
  }

  /** Looks for a refund whose creation got no response, among those of its payment. */
  async #search(refund: Refund, providerPaymentId: string): Promise<void> {
    const { provider } = this.#options
    for (const found of await provider.refundsOf(providerPaymentId)) {
      if (found.refundId === refund.id) return this.#settle(refund, found)
    }
    await this.#giveBack(refund, null, 'merchant/not_created')
  }

  async #settle(refund: Refund, found: ProviderRefund): Promise<void> {
    const { rows, clock, alarm } = this.#options
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
      alarm('refund_differs', { refund: refund.id, here: refund.state, there: found.state })
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

  /** A conflicting change came from the same state of the provider, so it is ignored. */
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
