import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Reports } from '../ledger/reports.ts'
import { tryWrite, type RecordReader } from '../stores/records/records.ts'
import { AutoTopUps } from './auto-top-ups.ts'
import { Offsets, PaymentUse } from './offsets.ts'
import type { Payment } from './payment-reader.ts'
import { nextPollAt, nextReceiptPollAt } from './payment-rules.ts'
import { Payments, type PaymentContext } from './payments.ts'
import { Receipts } from './receipts.ts'
import { reconcile, type Reconciliation } from './payment-actions.ts'
import { Refunds } from './refunds.ts'

interface ServiceOptions extends PaymentContext {
  readonly records: RecordReader
  readonly reports: Pick<Reports, 'balance' | 'account'>
  /** Milliseconds between polls of open payments. */
  readonly pollMs?: number
}

const pollMsDefault = 2000
const closeMs = 5000
const dueMax = 20
const lookMs = 2000
const looksMax = 10_000
const hour = 3_600_000
const day = 24 * hour
const downMs = 5000
/** The most unknown objects per minute that are fetched because a notification names them. */
const strangersMax = 60

/** The members of a notification that are read; nothing else in it is trusted. */
const notificationSchema = z.object({
  event: z.string().max(100),
  object: z.object({ id: z.string().min(1).max(64) }),
})

/**
 * The result of a notification. `unknown`: the gateway did not create its object. `busy`: too many unknown objects
 * arrived at once; the provider sends the notification again.
 */
type NotificationEnding = 'settled' | 'unknown' | 'busy'

/** Runs payments: notifications and polls lead to a query of the provider, and each payment is credited once. */
export class PaymentService {
  readonly payments: Payments
  readonly refunds: Refunds
  readonly use: PaymentUse
  readonly #options: ServiceOptions
  readonly #receipts: Receipts
  readonly #offsets: Offsets
  readonly #autoTopUps: AutoTopUps
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  /** When payments were last polled for a waiting customer. */
  readonly #looks = new Map<string, number>()
  #strangers = { minute: 0, count: 0 }
  #lastDay: number
  #lastHour = 0

  constructor(options: ServiceOptions) {
    this.#options = options
    this.use = new PaymentUse(options.records, options.reports)
    this.payments = new Payments(options)
    this.refunds = new Refunds({ ...options, use: this.use, payments: this.payments })
    this.#receipts = new Receipts(options)
    this.#offsets = new Offsets({ ...options, use: this.use })
    this.#autoTopUps = new AutoTopUps({ ...options, payments: this.payments })
    this.#lastDay = this.#today()
    this.#running = this.#run()
  }

  /** The rows, for pages that show payments. */
  get rows(): PaymentContext['rows'] {
    return this.#options.rows
  }

  get auto(): PaymentContext['auto'] {
    return this.#options.auto
  }

  get settings(): PaymentContext['settings'] {
    return this.#options.settings
  }

  /** The name of the current payment provider. */
  get providerName(): string {
    return this.#options.provider.name
  }

  /** Whether the provider has not responded for so long that customers should know. */
  get isProviderDown(): boolean {
    const since = this.#options.provider.unansweredSince()
    return since !== undefined && this.#options.clock.now() - since >= downMs
  }

  /**
   * Treats a notification as a hint: its object is fetched, and only the fetched state counts.
   * @throws ProviderError when the provider cannot be queried now
   */
  async notified(body: unknown): Promise<NotificationEnding> {
    const { data } = notificationSchema.safeParse(body)
    if (data === undefined) return 'unknown'
    const { event, object } = data
    const isOfRefund = event.startsWith('refund.')
    if (!isOfRefund && !event.startsWith('payment.')) return 'unknown'
    const { rows, provider } = this.#options
    const known = isOfRefund ? await rows.refundOf(object.id) : await rows.paymentOf(provider.name, object.id)
    // Final payments are checked only by the nightly comparison.
    if (known?.state === 'succeeded') return 'settled'
    // Anyone can post notifications, each costs a query, and the provider limits the rate of queries.
    if (known === undefined && !this.#mayFetchStranger()) return 'busy'
    const settler = isOfRefund ? this.refunds : this.payments
    return (await settler.settleById(object.id)) ? 'settled' : 'unknown'
  }

  /** Polls a payment for a waiting customer, unless that was done just now. */
  async look(payment: Payment): Promise<Payment> {
    const now = this.#options.clock.now()
    if (payment.next_poll_at === null || now - (this.#looks.get(payment.id) ?? 0) < lookMs) return payment
    if (this.#looks.size >= looksMax) this.#looks.clear()
    this.#looks.set(payment.id, now)
    await this.payments.checkSoon(payment)
    return (await this.rows.payment(payment.id)) ?? payment
  }

  reconcile(from: number, until: number): Promise<Reconciliation> {
    return reconcile(this.#options, this.payments, from, until)
  }

  /** Polls everything that is due. While the provider does not respond, each round makes only one query. */
  async pollDue(): Promise<void> {
    const { rows, clock, provider } = this.#options
    const now = clock.now()
    for (const payment of await rows.duePayments(now, dueMax)) {
      const until = nextPollAt(now, payment.created_at, payment.polls)
      // Of several nodes only one polls.
      if (!(await tryWrite(rows, [rows.postponePayment(payment, until)]))) continue
      await this.payments.check(payment)
      if (provider.unansweredSince() !== undefined) return
    }
    for (const refund of await rows.dueRefunds(now, dueMax)) {
      const until = nextPollAt(now, refund.created_at, refund.polls)
      if (!(await tryWrite(rows, [rows.postponeRefund(refund, until)]))) continue
      await this.refunds.check(refund)
      if (provider.unansweredSince() !== undefined) return
    }
    for (const receipt of await rows.dueReceipts(now, dueMax)) {
      const until = nextReceiptPollAt(now, receipt.requested_at ?? now)
      if (!(await tryWrite(rows, [rows.postponeReceipt(receipt, until, now)]))) continue
      await this.#receipts.check(receipt)
      if (provider.unansweredSince() !== undefined) return
    }
  }

  /** Charges saved cards where a balance is below its threshold. */
  topUpDue(): Promise<void> {
    return this.#autoTopUps.run()
  }

  /** Makes the receipts of use of the last complete month and returns their number. */
  closeLastMonth(): Promise<number> {
    return this.#offsets.closeLastMonth()
  }

  /** Stops; waits some seconds at most for running queries. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.race([this.#running, delay(closeMs, undefined, { ref: false })])
    await this.#options.provider.close()
  }

  async #run(): Promise<void> {
    const { pollMs = pollMsDefault } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      await this.#attempt(() => this.pollDue(), 'open payments could not be polled')
      await this.#attempt(() => this.topUpDue(), 'automatic top-ups could not be begun')
      await this.#attempt(() => this.#reconcileNightly(), 'payments could not be compared with the provider')
      await this.#attempt(() => this.#closeHourly(), 'receipts of use could not be made')
    }
  }

  async #attempt(work: () => Promise<unknown>, failed: string): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#options.log.error({ error }, failed)
    }
  }

  #today(): number {
    // Midnight UTC is three in the morning in Moscow.
    return Math.floor(this.#options.clock.now() / day)
  }

  /** Compares the last three days, once a night; several nodes that do so find the same. */
  async #reconcileNightly(): Promise<void> {
    const today = this.#today()
    if (today === this.#lastDay) return
    await this.reconcile((today - 3) * day, this.#options.clock.now())
    this.#lastDay = today
  }

  async #closeHourly(): Promise<void> {
    const now = Math.floor(this.#options.clock.now() / hour)
    if (now === this.#lastHour) return
    await this.closeLastMonth()
    this.#lastHour = now
  }

  #mayFetchStranger(): boolean {
    const minute = Math.floor(this.#options.clock.now() / 60_000)
    if (minute !== this.#strangers.minute) this.#strangers = { minute, count: 0 }
    this.#strangers.count += 1
    return this.#strangers.count <= strangersMax
  }
}
