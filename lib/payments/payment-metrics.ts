import { Gauge, Registry } from 'prom-client'
import type { Clock } from '../platform/clock.ts'
import type { PaymentReader } from './payment-reader.ts'

/** What an operator watches of payments. States are read when somebody asks. */
export class PaymentMetrics {
  readonly #registry = new Registry()
  readonly #reader: Pick<PaymentReader, 'summary'>
  readonly #clock: Clock
  readonly #payments = this.#gauge('payments', 'Payments by their state.', ['state'])
  readonly #refunds = this.#gauge('refunds', 'Refunds by their state.', ['state'])
  readonly #oldest = this.#gauge(
    'payment_oldest_open_seconds',
    'The age of the oldest payment or refund that is open.',
  )
  readonly #receipts = this.#gauge(
    'payment_receipts',
    'Fiscal receipts by their state; canceled ones failed.',
    ['state'],
  )
  readonly #differences = this.#gauge(
    'payment_differences',
    'Payments that differ from those of their provider.',
  )

  constructor(reader: Pick<PaymentReader, 'summary'>, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  /** In Prometheus' form. */
  async text(): Promise<string> {
    const { payments, refunds, receipts, oldestOpenAt, differences } = await this.#reader.summary()
    for (const [gauge, counts] of [
      [this.#payments, payments],
      [this.#refunds, refunds],
      [this.#receipts, receipts],
    ] as const) {
      for (const state of ['created', 'pending', 'succeeded', 'canceled'])
        gauge.set({ state }, counts.get(state) ?? 0)
    }
    this.#oldest.set(oldestOpenAt === undefined ? 0 : (this.#clock.now() - oldestOpenAt) / 1000)
    this.#differences.set(differences)
    return this.#registry.metrics()
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name: `gateway_${name}`, help, labelNames, registers: [this.#registry] })
  }
}
