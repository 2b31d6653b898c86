import { setTimeout as delay } from 'node:timers/promises'
import { AccountError } from '../accounts/accounts.ts'
import type { Clock } from '../platform/clock.ts'
import type { PaymentsConfig } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import type { Micros } from '../money/amount.ts'
import { newId } from '../platform/new-id.ts'
import { RecordConflictError, tryWrite, type RecordStep } from '../stores/records/records.ts'
import { unlinked, type AutoTopUpRows, type SavedCard } from './auto-top-up-rows.ts'
import { checkAmount, decidePayment, idempotenceMs, knownPayment, nextPollAt } from './payment-rules.ts'
import type { RaiseAlarm } from '../pipeline/alarm-codes.ts'
import { ProviderError, type PaymentProvider, type ProviderPayment } from './payment-provider.ts'
import { paymentBody, receiptSettings, type PaymentWay } from './payment-request.ts'
import type { Payment } from './payment-reader.ts'
import { settlementSteps, type PaymentRows } from './payment-rows.ts'

/** Dependencies of payments, refunds and receipts. */
export interface PaymentContext {
  readonly rows: PaymentRows
  readonly auto: AutoTopUpRows
  readonly provider: PaymentProvider
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly alarm: RaiseAlarm
  /** The current settings: a reload changes them. */
  readonly settings: () => PaymentsConfig
  /** The page to which a payment returns. */
  readonly returnUrl: (paymentId: string) => string
}

/** A payment requested by a customer or operator. */
interface NewPayment {
  readonly accountId: string
  readonly amountMicros: Micros
  /** Absent: the payment page offers a choice. */
  readonly method?: 'bank_card' | 'sbp' | undefined
  /** The recipient of the receipt. */
  readonly email: string
  readonly language: 'ru' | 'en'
  readonly origin: 'customer' | 'operator'
  /** Whether to save the card for automatic top-ups. */
  readonly savesCard?: boolean
  readonly address?: string
}

/** A payment by a saved card. */
interface AutomaticPayment {
  readonly accountId: string
  readonly amountMicros: Micros
  readonly email: string
  readonly card: SavedCard
  /** Steps in the same transaction as the payment's row. */
  readonly steps: readonly RecordStep[]
}

type SavedPayment = Pick<NewPayment, 'accountId' | 'amountMicros' | 'email'> &
  Pick<Payment, 'method' | 'origin' | 'saved_method_id'> & {
    readonly way: (id: string) => PaymentWay
    readonly steps: readonly RecordStep[]
  }

const minute = 60_000
/** How long a customer waits for the provider's response before a page reports that it is still pending. */
const patienceMs = 6000

/** Creates and polls payments, and credits each once when the provider reports it as paid. */
export class Payments {
  readonly #context: PaymentContext

  constructor(context: PaymentContext) {
    this.#context = context
  }

  /**
   * Stores a payment, then creates it at the provider. The result may still be `created`: then it is unknown whether
   * the provider has the payment, and a later poll finds out.
   * @throws AccountError payment_amount, payment_method
   */
  async create(payment: NewPayment): Promise<Payment> {
    const { settings, returnUrl } = this.#context
    const { method = null, language, savesCard = false, address, ...rest } = payment
    checkAmount(settings(), payment)
    const way = (id: string): PaymentWay => ({
      method,
      language,
      returnUrl: returnUrl(id),
      savesCard,
      ...(address === undefined ? {} : { address }),
    })
    return this.#make({ ...rest, method, way, saved_method_id: null, steps: [] })
  }

  /**
   * Charges a saved card without confirmation.
   * @throws RecordConflictError when another attempt of the account is open, or a step finds a changed row
   */
  async createAutomatic({ card, ...rest }: AutomaticPayment): Promise<Payment> {
    const savedMethodId = card.method_id
    if (savedMethodId === null) throw new TypeError(`the card ${card.id} is forgotten`)
    const way = (): PaymentWay => ({ savedMethodId })
    const fixed = { method: 'bank_card', origin: 'automatic', saved_method_id: card.id } as const
    return this.#make({ ...rest, ...fixed, way })
  }

  /** Queries a payment's state at the provider and applies it; after a failure it is polled again later. */
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

  /** As `check`, but returns after `patienceMs`; a slow query continues in the background. */
  async checkSoon(payment: Payment): Promise<void> {
    const checked = this.check(payment)
    checked.catch((error: unknown) => {
      this.#context.log.error({ error, payment: payment.id }, 'a payment could not be polled')
    })
    await Promise.race([checked, delay(patienceMs, undefined, { ref: false })])
  }

  /**
   * Applies the state of one of the provider's payments.
   * @returns whether the gateway created the payment
   * @throws ProviderError when the provider cannot be queried
   */
  async settleById(providerId: string): Promise<boolean> {
    const { rows, provider } = this.#context
    const known = await rows.paymentOf(provider.name, providerId)
    // A notification may arrive before the response that created the payment.
    const found = await provider.payment(providerId)
    const payment = known ?? (await rows.payment(found.paymentId ?? ''))
    if (payment === undefined) return false
    await this.settle(payment, found)
    return true
  }

  /** Applies the provider's state of a payment; repeated or late reports change nothing. */
  async settle(payment: Payment, found: ProviderPayment): Promise<void> {
    for (let current = payment; ;) {
      try {
        await this.#settleOnce(current, found)
        return
      } catch (error) {
        // Another process settled it meanwhile: decides again from the current row.
        if (!(error instanceof RecordConflictError)) throw error
        const next = await this.#read(payment.id)
        if (next.state === current.state && next.provider_id === current.provider_id) throw error
        current = next
      }
    }
  }

  /** Records that both sides differ and raises an alarm; nothing is credited. */
  async differs(payment: Payment, difference: string): Promise<void> {
    if (payment.difference === difference) return
    const { rows, alarm } = this.#context
    alarm('payment_differs', { payment: payment.id, account: payment.account_id, difference })
    await rows.write([rows.changePayment(payment, { difference })])
  }

  /** Stores the row, then sends its request to the provider. */
  async #make({ way, steps, ...payment }: SavedPayment): Promise<Payment> {
    const { rows, provider, clock, settings } = this.#context
    const { accountId, amountMicros, email, method, origin, saved_method_id } = payment
    const now = clock.now()
    const id = newId()
    const request = { id, accountId, amountMicros, email, way: way(id) }
    await rows.write([
      rows.addPayment({
        id,
        account_id: accountId,
        provider: provider.name,
        is_test: provider.isTest ? 1 : 0,
        state: 'created',
        method,
        origin,
        amount_micros: amountMicros,
        receipt_email: email,
        idempotence_key: newId(),
        request: paymentBody(request, receiptSettings(settings(), now)),
        requested_at: now,
        saved_method_id,
        created_at: now,
        next_poll_at: nextPollAt(now, now, 0),
      }),
      ...steps,
    ])
    await this.checkSoon(await this.#read(id))
    return this.#read(id)
  }

  async #settleOnce(payment: Payment, found: ProviderPayment): Promise<void> {
    const { rows, log, clock } = this.#context
    const { id, account_id: account } = payment
    const decision = decidePayment(knownPayment(payment), found)
    if (decision.kind === 'alarm') return this.differs(payment, decision.difference)
    if (decision.kind === 'nothing') return
    await rows.write(settlementSteps(this.#context, payment, { decision, found, now: clock.now() }))
    if (decision.kind === 'cancel')
      log.info({ payment: id, failure: decision.failure }, 'a payment was canceled')
    if (decision.kind === 'credit') log.info({ payment: id, account }, 'a payment was credited')
  }

  async #ask(payment: Payment): Promise<void> {
    const { provider, clock } = this.#context
    const now = clock.now()
    if (payment.provider_id !== null) return this.#askById(payment, payment.provider_id)
    // Later the provider no longer knows the key, and the same body would create a second payment.
    if (now - (payment.requested_at ?? now) > idempotenceMs)
      return this.#search(payment, 'merchant/not_created')
    if (await this.#isUnlinked(payment)) return this.#search(payment, unlinked)
    const { request: body, idempotence_key: idempotenceKey } = payment
    try {
      await this.settle(payment, await provider.createPayment({ body, idempotenceKey }))
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure === 'unknown') throw error
      this.#context.alarm('payment_refused', { error, payment: payment.id })
      await this.#giveUp(payment, 'merchant/refused')
    }
  }

  /** A charge is not retried after the owner unlinked the card. */
  async #isUnlinked({ saved_method_id: cardId }: Payment): Promise<boolean> {
    if (cardId === null) return false
    const card = await this.#context.auto.card(cardId)
    return card === undefined || card.method_id === null
  }

  async #askById(payment: Payment, providerId: string): Promise<void> {
    const { provider } = this.#context
    try {
      await this.settle(payment, await provider.payment(providerId))
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure !== 'not_found') throw error
      // The sandbox loses its payments when the process ends.
      if (provider.isTest) await this.#giveUp(payment, 'yoo_money/expired_on_confirmation')
      else await this.differs(payment, 'its provider does not know it')
    }
  }

  /** Looks for a payment whose creation got no response, by the gateway's id in it. */
  async #search(payment: Payment, failure: string): Promise<void> {
    const { provider } = this.#context
    const sentAt = payment.requested_at ?? payment.created_at
    for await (const found of provider.payments(sentAt - 10 * minute, sentAt + idempotenceMs + 60 * minute)) {
      if (found.paymentId === payment.id) return this.settle(payment, found)
    }
    await this.#giveUp(payment, failure)
  }

  async #giveUp(payment: Payment, failure: string): Promise<void> {
    const { rows, auto, clock } = this.#context
    const now = clock.now()
    const change = { state: 'canceled', failure, ended_at: now, next_poll_at: null } as const
    // A payment settled meanwhile is not canceled.
    await tryWrite(rows, [rows.changePayment(payment, change), ...auto.ended(payment, now, failure)])
  }

  async #read(id: string): Promise<Payment> {
    const payment = await this.#context.rows.payment(id)
    if (payment === undefined) throw new AccountError('payment_not_found', `there is no payment ${id}`)
    return payment
  }
}
