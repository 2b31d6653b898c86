import { AccountError } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { PaymentsConfig, ReceiptSettings } from '../config/config.ts'
import type { Log } from '../log.ts'
import type { Micros } from '../money/amount.ts'
import { formatWholeKopecks, microsPerKopeck } from '../money/kopecks.ts'
import { newId } from '../new-id.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordStep } from '../stores/records/records.ts'
import { ProviderError } from './payment-provider.ts'
import type { PaymentProvider, ProviderPayment } from './payment-provider.ts'
import { paymentBody } from './payment-request.ts'
import type { Payment, PaymentRows } from './payment-rows.ts'
import { registeredReceipt } from './registered-receipt.ts'
import { decidePayment, idempotenceMs, nextPollAt } from './payment-rules.ts'

/** What payments, refunds and receipts work with. */
export interface PaymentContext {
  readonly rows: PaymentRows
  readonly provider: PaymentProvider
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** As it is now: a reload changes it. */
  readonly settings: () => PaymentsConfig
  /** The page that a payment returns to. */
  readonly returnUrl: (paymentId: string) => string
}

/** A payment that somebody wants to make. */
export interface NewPayment {
  readonly accountId: string
  readonly amountMicros: Micros
  /** Absent: the payment page offers a choice. */
  readonly method?: 'bank_card' | 'sbp' | undefined
  /** Where the receipt goes. */
  readonly email: string
  readonly language: 'ru' | 'en'
  readonly origin: 'customer' | 'operator'
  readonly address?: string
}

const minute = 60_000

/** What receipts say at a time; undefined where none are made. */
export function receiptSettings({ receipts }: PaymentsConfig, at: number): ReceiptSettings | undefined {
  return receipts.findLast(({ from }) => from <= at)
}

/** Payments: made, asked after, and credited once when their provider says that they are paid. */
export class Payments {
  readonly #context: PaymentContext

  constructor(context: PaymentContext) {
    this.#context = context
  }

  /**
   * Saves a payment, then makes it at the provider. What is answered may still be `created`: whether the provider has
   * it is not known then, and found out later.
   * @throws AccountError payment_amount
   */
  async create(payment: NewPayment): Promise<Payment> {
    const { rows, provider, clock, settings, returnUrl } = this.#context
    const { accountId, amountMicros, method, email, language, origin, address } = payment
    checkAmount(settings(), payment)
    const now = clock.now()
    const id = newId()
    const request = {
      id,
      accountId,
      amountMicros,
      method: method ?? null,
      email,
      language,
      returnUrl: returnUrl(id),
      ...(address === undefined ? {} : { address }),
    }
    await rows.write([
      rows.addPayment({
        id,
        account_id: accountId,
        provider: provider.name,
        provider_id: null,
        is_test: provider.isTest ? 1 : 0,
        state: 'created',
        method: method ?? null,
        origin,
        amount_micros: amountMicros,
        receipt_email: email,
        idempotence_key: newId(),
        request: paymentBody(request, receiptSettings(settings(), now)),
        requested_at: now,
        confirmation_url: null,
        method_title: null,
        saved_method_id: null,
        failure: null,
        difference: null,
        created_at: now,
        credited_at: null,
        ended_at: null,
        next_poll_at: nextPollAt(now, now, 0),
      }),
    ])
    await this.check(await this.#read(id))
    return this.#read(id)
  }

  /** Asks the provider how a payment stands, and acts by it. What cannot be found out now is asked again later. */
  async check(payment: Payment): Promise<void> {
    if (payment.next_poll_at === null) return
    const { log } = this.#context
    try {
      await this.#ask(payment)
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      log.warn(
        { error, payment: payment.id },
        'how a payment stands could not be found out; it is asked again',
      )
    }
  }

  /**
   * Acts by what the provider says of one of its payments, whoever asked.
   * @returns whether the payment is ours
   * @throws ProviderError when the provider cannot be asked
   */
  async settleById(providerId: string): Promise<boolean> {
    const { rows, provider } = this.#context
    const known = await rows.paymentOf(provider.name, providerId)
    // A notification may be sooner than the answer to the request that made the payment.
    const found = await provider.payment(providerId)
    const payment = known ?? (await rows.payment(found.paymentId ?? ''))
    if (payment === undefined) return false
    await this.settle(payment, found)
    return true
  }

  /** Acts by what the provider says of a payment. Whatever comes twice, or late, changes nothing. */
  async settle(payment: Payment, found: ProviderPayment): Promise<void> {
    for (let current = payment; ;) {
      try {
        await this.#settleOnce(current, found)
        return
      } catch (error) {
        // Somebody else settled it meanwhile: decided anew by what stands there now.
        if (!(error instanceof RecordConflictError)) throw error
        const next = await this.#read(payment.id)
        if (next.state === current.state && next.provider_id === current.provider_id) throw error
        current = next
      }
    }
  }

  async #settleOnce(payment: Payment, found: ProviderPayment): Promise<void> {
    const { rows, clock, log } = this.#context
    const decision = decidePayment(knownPayment(payment), found)
    const { id } = payment
    const now = clock.now()
    if (decision.kind === 'alarm') return this.#alarm(payment, decision.difference)
    if (decision.kind === 'pend') {
      const confirmation_url = found.confirmationUrl ?? null
      await rows.write([
        rows.changePayment(payment, { state: 'pending', provider_id: found.id, confirmation_url }),
      ])
    } else if (decision.kind === 'cancel') {
      const { failure } = decision
      const ended = { state: 'canceled', failure, ended_at: now, next_poll_at: null } as const
      await rows.write([rows.changePayment(payment, { ...ended, provider_id: found.id })])
      log.info({ payment: id, failure }, 'a payment was canceled')
    } else if (decision.kind === 'credit') {
      await rows.write(creditSteps(rows, payment, found, now))
      log.info({ payment: id, account: payment.account_id }, 'a payment was credited')
    }
  }

  async #ask(payment: Payment): Promise<void> {
    const { provider, clock } = this.#context
    const now = clock.now()
    if (payment.provider_id !== null) return this.#askById(payment, payment.provider_id)
    // Later the provider no longer knows the key, and the same body would be a second payment.
    if (now - (payment.requested_at ?? now) > idempotenceMs) return this.#search(payment)
    const { request: body, idempotence_key: idempotenceKey } = payment
    try {
      await this.settle(payment, await provider.createPayment({ body, idempotenceKey }))
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure === 'unknown') throw error
      this.#context.log.error({ error, payment: payment.id }, 'the payment provider refused a payment')
      await this.#giveUp(payment, 'merchant/refused')
    }
  }

  async #askById(payment: Payment, providerId: string): Promise<void> {
    const { provider } = this.#context
    try {
      await this.settle(payment, await provider.payment(providerId))
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure !== 'not_found') throw error
      // The sandbox forgets its payments with its process.
      if (provider.isTest) await this.#giveUp(payment, 'yoo_money/expired_on_confirmation')
      else await this.#alarm(payment, 'its provider does not know it')
    }
  }

  /** Looks for a payment whose creation was never answered, by our id in it. */
  async #search(payment: Payment): Promise<void> {
    const { provider } = this.#context
    const sentAt = payment.requested_at ?? payment.created_at
    for await (const found of provider.payments(sentAt - 10 * minute, sentAt + idempotenceMs + 60 * minute)) {
      if (found.paymentId === payment.id) return this.settle(payment, found)
    }
    await this.#giveUp(payment, 'merchant/not_created')
  }

  async #giveUp(payment: Payment, failure: string): Promise<void> {
    const { rows, clock } = this.#context
    const change = { state: 'canceled', failure, ended_at: clock.now(), next_poll_at: null } as const
    try {
      await rows.write([rows.changePayment(payment, change)])
    } catch (error) {
      // It was settled meanwhile, so it is not given up.
      if (!(error instanceof RecordConflictError)) throw error
    }
  }

  async #alarm(payment: Payment, difference: string): Promise<void> {
    if (payment.difference === difference) return
    const { rows, log } = this.#context
    log.error(
      { payment: payment.id, difference },
      'a payment is not what its provider says; nothing was credited',
    )
    await rows.write([rows.changePayment(payment, { difference })])
  }

  async #read(id: string): Promise<Payment> {
    const payment = await this.#context.rows.payment(id)
    if (payment === undefined) throw new AccountError('payment_not_found', `there is no payment ${id}`)
    return payment
  }
}

/** @throws AccountError payment_amount, payment_method */
function checkAmount({ topUp }: PaymentsConfig, { amountMicros, method }: NewPayment): void {
  const offered = method === undefined ? undefined : topUp.methods.find(({ name }) => name === method)
  if (method !== undefined && offered === undefined) {
    throw new AccountError('payment_method', `${method} is not among payments.topUp.methods`)
  }
  const maxMicros = offered?.maxMicros ?? Math.min(...topUp.methods.map(one => one.maxMicros))
  if (amountMicros % microsPerKopeck !== 0 || amountMicros < topUp.minMicros || amountMicros > maxMicros) {
    const bounds = `${formatWholeKopecks(topUp.minMicros)} to ${formatWholeKopecks(maxMicros)}`
    throw new AccountError('payment_amount', `a payment is whole kopecks, from ${bounds} roubles`)
  }
}

function knownPayment(payment: Payment) {
  return {
    id: payment.id,
    accountId: payment.account_id,
    providerId: payment.provider_id,
    state: payment.state,
    amountMicros: payment.amount_micros,
    isTest: payment.is_test === 1,
  }
}

/** The row, its receipt and the money, in one transaction. */
function creditSteps(rows: PaymentRows, payment: Payment, found: ProviderPayment, now: number): RecordStep[] {
  const { id, account_id: accountId, amount_micros: amountMicros } = payment
  const succeeded = rows.changePayment(payment, {
    state: 'succeeded',
    provider_id: found.id,
    method_title: found.methodTitle ?? null,
    failure: null,
    difference: null,
    credited_at: now,
    ended_at: now,
    next_poll_at: null,
  })
  const credit = { id: `payment:${id}`, accountId, amountMicros, reason: `payment ${id}`, at: now }
  return [
    succeeded,
    ...registeredReceipt(rows, { kind: 'payment', payment, now }),
    { credit: { ...credit, source: 'payment' } },
  ]
}
