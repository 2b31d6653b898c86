import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { kopecksOf } from './shop-objects.ts'
import type {
  PaymentBody,
  ReceiptBody,
  RefundBody,
  ShopPayment,
  ShopReceipt,
  ShopRefund,
} from './shop-objects.ts'

const payableMs = 3_600_000

/** The shop's refusal, in the API's words. */
export class ShopRefusal extends Error {
  readonly parameter: string

  constructor(parameter: string, message: string) {
    super(message)
    this.parameter = parameter
  }
}

/** Called when a state is reached for which the API sends a notification. */
type OnEvent = (event: 'payment.succeeded' | 'payment.canceled' | 'refund.succeeded', id: string) => void

/** The outcome of refunds and receipts created from now on. */
interface ShopTemper {
  refunds: 'succeeded' | 'pending' | 'canceled'
  receipts: 'succeeded' | 'pending' | 'canceled'
  /** The outcome of payments with a saved card: paid at once, pending, or declined for this reason. */
  savedCards: 'succeeded' | 'pending' | { readonly declined: string }
}

/** A shop of the payment provider, in memory: its payments and refunds. */
export class Shop {
  readonly payments = new Map<string, ShopPayment>()
  readonly refunds = new Map<string, ShopRefund>()
  readonly receipts = new Map<string, ShopReceipt>()
  readonly temper: ShopTemper = { refunds: 'succeeded', receipts: 'succeeded', savedCards: 'succeeded' }
  /** Cards that can be charged again, by their ids. */
  readonly savedMethods = new Set<string>()
  readonly #clock: Clock
  readonly #onEvent: OnEvent
  /** How far the shop's clock is ahead. */
  aheadMs = 0

  constructor(clock: Clock, onEvent: OnEvent) {
    this.#clock = clock
    this.#onEvent = onEvent
  }

  now(): number {
    return this.#clock.now() + this.aheadMs
  }

  createPayment(body: PaymentBody): ShopPayment {
    const most = body.payment_method_data?.type === 'sbp' ? 70_000_000 : 35_000_000
    const kopecks = kopecksOf(body.amount)
    if (kopecks < 100 || kopecks > most) throw new ShopRefusal('amount.value', 'The amount is out of bounds')
    checkReceipt(body)
    const { payment_method_id: methodId } = body
    if (methodId !== undefined && !this.savedMethods.has(methodId))
      throw new ShopRefusal('payment_method_id', 'There is no such payment method')
    const payment: ShopPayment = {
      id: randomUUID(),
      status: 'pending',
      createdMs: this.now(),
      body,
      method: methodId === undefined ? undefined : 'bank_card',
      savedMethodId: undefined,
      cancellation: undefined,
      refundedKopecks: 0,
    }
    this.payments.set(payment.id, payment)
    if (methodId !== undefined) this.#charge(payment)
    return payment
  }

  payment(id: string): ShopPayment | undefined {
    const payment = this.payments.get(id)
    if (payment?.status === 'pending' && this.now() - payment.createdMs > payableMs)
      this.cancel(payment, 'expired_on_confirmation', 'yoo_money')
    return payment
  }

  /** The customer has paid. A payment that is not open stays unchanged. */
  pay(payment: ShopPayment, method: 'bank_card' | 'sbp'): void {
    if (payment.status !== 'pending') return
    payment.status = 'succeeded'
    payment.method = method
    if (payment.body.save_payment_method === true && method === 'bank_card') {
      payment.savedMethodId = payment.id
      this.savedMethods.add(payment.id)
    }
    const { amount, receipt } = payment.body
    if (receipt !== undefined)
      this.#addReceipt({
        type: 'payment',
        payment_id: payment.id,
        settlements: [{ type: 'cashless', amount }],
      })
    this.#onEvent('payment.succeeded', payment.id)
  }

  cancel(payment: ShopPayment, reason: string, party = 'payment_network'): void {
    if (payment.status !== 'pending') return
    payment.status = 'canceled'
    payment.cancellation = { party, reason }
    this.#onEvent('payment.canceled', payment.id)
  }

  createRefund(body: RefundBody): ShopRefund {
    const payment = this.payments.get(body.payment_id)
    if (payment?.status !== 'succeeded') throw new ShopRefusal('payment_id', 'The payment cannot be refunded')
    const kopecks = kopecksOf(body.amount)
    if (kopecks < 1 || payment.refundedKopecks + kopecks > kopecksOf(payment.body.amount))
      throw new ShopRefusal('amount.value', 'The amount is more than what is left of the payment')
    checkReceipt(body)
    payment.refundedKopecks += kopecks
    const refund: ShopRefund = {
      id: randomUUID(),
      status: 'pending',
      createdMs: this.now(),
      body,
      cancellation: undefined,
    }
    this.refunds.set(refund.id, refund)
    if (this.temper.refunds !== 'pending') this.endRefund(refund, this.temper.refunds)
    return refund
  }

  endRefund(refund: ShopRefund, status: 'succeeded' | 'canceled'): void {
    if (refund.status !== 'pending') return
    refund.status = status
    if (status === 'succeeded') {
      const { amount, receipt } = refund.body
      if (receipt !== undefined)
        this.#addReceipt({
          type: 'refund',
          refund_id: refund.id,
          settlements: [{ type: 'cashless', amount }],
        })
      this.#onEvent('refund.succeeded', refund.id)
      return
    }
    refund.cancellation = { party: 'refund_network', reason: 'rejected_by_payee' }
    const payment = this.payments.get(refund.body.payment_id)
    if (payment !== undefined) payment.refundedKopecks -= kopecksOf(refund.body.amount)
  }

  createReceipt(body: ReceiptBody): ShopReceipt {
    const of =
      body.type === 'payment'
        ? this.payments.get(body.payment_id ?? '')
        : this.refunds.get(body.refund_id ?? '')
    if (of === undefined) throw new ShopRefusal(`${body.type}_id`, 'There is no such object')
    const total = body.items.reduce((sum, { amount, quantity }) => sum + kopecksOf(amount) * quantity, 0)
    const settled = body.settlements.reduce((sum, { amount }) => sum + kopecksOf(amount), 0)
    if (total !== settled)
      throw new ShopRefusal('settlements', 'The settlements are not the sum of the items')
    const { type, payment_id, refund_id, settlements } = body
    return this.#addReceipt({ type, payment_id, refund_id, settlements })
  }

  /** Charges a saved card, without the customer's confirmation. */
  #charge(payment: ShopPayment): void {
    const { savedCards } = this.temper
    if (savedCards === 'succeeded') this.pay(payment, 'bank_card')
    else if (savedCards !== 'pending') this.cancel(payment, savedCards.declined)
  }

  #addReceipt(body: ShopReceipt['body']): ShopReceipt {
    const receipt = { id: `rt-${randomBytes(18).toString('hex')}`, status: this.temper.receipts, body }
    this.receipts.set(receipt.id, receipt)
    return receipt
  }
}

function checkReceipt({ amount, receipt }: Pick<PaymentBody, 'amount' | 'receipt'>): void {
  const total = receipt?.items.reduce((sum, item) => sum + kopecksOf(item.amount) * item.quantity, 0)
  if (total !== undefined && total !== kopecksOf(amount))
    throw new ShopRefusal('receipt.items', 'The items of the receipt are not the sum of the payment')
}
