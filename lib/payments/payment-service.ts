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
  /** How often open payments are looked for, in milliseconds. */
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
/** Objects of nobody here that are fetched in a minute because a notification names them. */
const strangersMax = 60

/** What a notification must have for its object to be looked at; all else in it is not believed. */
const notificationSchema = z.object({
  event: z.string().max(100),
  object: z.object({ id: z.string().min(1).max(64) }),
})

/**
 * What came of a notification. `unknown`: its object is not ours. `busy`: too many of unknown objects came at once;
 * the provider sends it again.
 */
type NotificationEnding = 'settled' | 'unknown' | 'busy'

/** Everything that goes on with payments: whoever tells first, the provider is asked, and the ledger told once. */
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
  /** When payments were asked after by who waits for them. */
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

  /** The rows, for those who show them. */
  get rows(): PaymentContext['rows'] {
    return this.#options.rows
  }

  get auto(): PaymentContext['auto'] {
    return this.#options.auto
  }

  get settings(): PaymentContext['settings'] {
    return this.#options.settings
  }

  /** The name of the provider that takes payments now. */
  get providerName(): string {
    return this.#options.provider.name
  }

  /** Whether the provider has left questions unanswered for some time, so that customers should know. */
  get isProviderDown(): boolean {
    const since = this.#options.provider.unansweredSince()
    return since !== undefined && this.#options.clock.now() - since >= downMs
  }

  /**
   * Takes a notification as a hint: its object is fetched, and what is fetched counts.
   * @throws ProviderError when the provider cannot be asked now
   */
  async notified(body: unknown): Promise<NotificationEnding> {
    const { data } = notificationSchema.safeParse(body)
    if (data === undefined) return 'unknown'
    const { event, object } = data
    const isOfRefund = event.startsWith('refund.')
    if (!isOfRefund && !event.startsWith('payment.')) return 'unknown'
    const { rows, provider } = this.#options
    const known = isOfRefund ? await rows.refundOf(object.id) : await rows.paymentOf(provider.name, object.id)
    // What has come to its end is asked after by the nightly comparison only.
    if (known?.state === 'succeeded') return 'settled'
    // Anybody can send notifications, and each costs a question; the provider bounds how many we may ask.
    if (known === undefined && !this.#mayFetchStranger()) return 'busy'
    const settler = isOfRefund ? this.refunds : this.payments
    return (await settler.settleById(object.id)) ? 'settled' : 'unknown'
  }

  /** Asks after a payment that somebody waits for, unless that was done just now. */
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

  /** Asks after everything that is due. While the provider does not answer, one question a round is enough. */
  async pollDue(): Promise<void> {
    const { rows, clock, provider } = this.#options
    const now = clock.now()
    for (const payment of await rows.duePayments(now, dueMax)) {
      const until = nextPollAt(now, payment.created_at, payment.polls)
      // Of several nodes one asks.
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

  /** Charges saved cards where a balance is below its bound. */
  topUpDue(): Promise<void> {
    return this.#autoTopUps.run()
  }

  /** Makes the receipts of use of the last month that is over; answers how many. */
  closeLastMonth(): Promise<number> {
    return this.#offsets.closeLastMonth()
  }

  /** Ends; what is being asked is waited for, for some seconds at most. */
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
      await this.#attempt(() => this.pollDue(), 'open payments could not be asked after')
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
    // Midnight in UTC is three in the morning in Moscow.
    return Math.floor(this.#options.clock.now() / day)
  }

  /** Compares the last three days, once a night; whichever nodes do so find the same. */
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
