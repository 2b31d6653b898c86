import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordStep } from '../stores/records/records.ts'
import { nextPollAt } from './payment-rules.ts'
import { Payments } from './payments.ts'
import type { PaymentContext } from './payments.ts'
import { Receipts } from './receipts.ts'
import { reconcile } from './reconcile.ts'
import type { Reconciliation } from './reconcile.ts'
import { Refunds } from './refunds.ts'
import type { Payment } from './payment-rows.ts'

interface ServiceOptions extends PaymentContext {
  readonly unspent: (payment: Payment) => Promise<number>
  /** How often open payments are looked for, in milliseconds. */
  readonly pollMs?: number
}

const pollMsDefault = 2000
const closeMs = 5000
const dueMax = 20
const lookMs = 2000
const looksMax = 10_000
const day = 86_400_000
/** Moscow's three in the morning is midnight in UTC. */
const nightMs = 0

/** What a notification must have for its object to be looked at; all else in it is not believed. */
const notificationSchema = z.object({
  event: z.string().max(100),
  object: z.object({ id: z.string().min(1).max(64) }),
})

/** Whether a notification's object was found to be ours. */
export type NotificationEnding = 'settled' | 'unknown'

/** Everything that goes on with payments: whoever tells first, the provider is asked, and the ledger told once. */
export class PaymentService {
  readonly payments: Payments
  readonly refunds: Refunds
  readonly #options: ServiceOptions
  readonly #receipts: Receipts
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  /** When payments were asked after by who waits for them. */
  readonly #looks = new Map<string, number>()
  #lastDay: number

  constructor(options: ServiceOptions) {
    this.#options = options
    this.payments = new Payments(options)
    this.refunds = new Refunds(options)
    this.#receipts = new Receipts(options)
    this.#lastDay = this.#today()
    this.#running = this.#run()
  }

  /** The rows, for those who show them. */
  get rows(): PaymentContext['rows'] {
    return this.#options.rows
  }

  get settings(): PaymentContext['settings'] {
    return this.#options.settings
  }

  /**
   * Takes a notification as a hint: its object is fetched, and what is fetched counts.
   * @throws ProviderError when the provider cannot be asked now
   */
  async notified(body: unknown): Promise<NotificationEnding> {
    const { data } = notificationSchema.safeParse(body)
    if (data === undefined) return 'unknown'
    const { event, object } = data
    if (event.startsWith('refund.')) return (await this.refunds.settleById(object.id)) ? 'settled' : 'unknown'
    if (!event.startsWith('payment.')) return 'unknown'
    return (await this.payments.settleById(object.id)) ? 'settled' : 'unknown'
  }

  /** Asks after a payment that somebody waits for, unless that was done just now. */
  async look(payment: Payment): Promise<Payment> {
    const now = this.#options.clock.now()
    if (payment.next_poll_at === null || now - (this.#looks.get(payment.id) ?? 0) < lookMs) return payment
    if (this.#looks.size >= looksMax) this.#looks.clear()
    this.#looks.set(payment.id, now)
    await this.payments.check(payment)
    return (await this.rows.payment(payment.id)) ?? payment
  }

  reconcile(from: number, until: number): Promise<Reconciliation> {
    return reconcile(this.#options, this.payments, from, until)
  }

  /** Asks after everything that is due. */
  async pollDue(): Promise<void> {
    const { rows, clock } = this.#options
    const now = clock.now()
    for (const payment of await rows.duePayments(now, dueMax)) {
      const until = nextPollAt(now, payment.created_at, payment.polls)
      if (await this.#take(rows.postponePayment(payment, until))) await this.payments.check(payment)
    }
    for (const refund of await rows.dueRefunds(now, dueMax)) {
      const until = nextPollAt(now, refund.created_at, refund.polls)
      if (await this.#take(rows.postponeRefund(refund, until))) await this.refunds.check(refund)
    }
    for (const receipt of await rows.dueReceipts(now, dueMax)) {
      const until = nextPollAt(now, receipt.created_at, receipt.attempts)
      if (await this.#take(rows.postponeReceipt(receipt, until))) await this.#receipts.check(receipt)
    }
  }

  /** Ends; what is being asked is waited for, for some seconds at most. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.race([this.#running, delay(closeMs, undefined, { ref: false })])
    await this.#options.provider.close()
  }

  /** Of several nodes one asks. */
  async #take(step: RecordStep): Promise<boolean> {
    try {
      await this.#options.rows.write([step])
      return true
    } catch (error) {
      if (error instanceof RecordConflictError) return false
      throw error
    }
  }

  async #run(): Promise<void> {
    const { pollMs = pollMsDefault, log } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await delay(pollMs, undefined, { signal, ref: false })
        await this.pollDue()
        await this.#reconcileNightly()
      } catch (error) {
        if (!signal.aborted) log.error({ error }, 'open payments could not be asked after')
      }
    }
  }

  #today(): number {
    return Math.floor((this.#options.clock.now() - nightMs) / day)
  }

  /** Compares the last three days, once a night; whichever nodes do so find the same. */
  async #reconcileNightly(): Promise<void> {
    const today = this.#today()
    if (today === this.#lastDay) return
    await this.reconcile((today - 3) * day, this.#options.clock.now())
    this.#lastDay = today
  }
}
