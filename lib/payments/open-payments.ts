import type { Clock } from '../platform/clock.ts'
import type { Config, PaymentsConfig } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import type { RaiseAlarm } from '../pipeline/alarm-codes.ts'
import type { Store } from '../stores/store.ts'
import { AutoTopUpRows } from './auto-top-up-rows.ts'
import { checkShop, type PaymentProvider } from './payment-provider.ts'
import { paymentActions, type PaymentActions } from './payment-actions.ts'
import { PaymentRows } from './payment-rows.ts'
import { PaymentService } from './payment-service.ts'
import { yookassaClient } from './yookassa/yookassa-client.ts'
import { Gauge, Registry } from 'prom-client'
import type { PaymentReader } from './payment-reader.ts'

interface PaymentsOptions {
  readonly config: Config
  readonly store: Pick<Store, 'records' | 'reports'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly alarm: RaiseAlarm
}

/** The path, below the account area's URL, to which the provider posts notifications. */
export const notificationsPath = '/payments/yookassa/notifications'

/** Running payments. */
export interface OpenPayments {
  readonly service: PaymentService
  /** The actions of operators. */
  readonly actions: PaymentActions
  readonly metrics: PaymentMetrics
  /** Sets the URL of the account area: payments return there, and the sandbox posts its notifications there. */
  setSite(url: URL): void
  reload(config: Config): void
  close(): Promise<void>
}

interface Shop {
  readonly provider: PaymentProvider
  notifyTo(url: string): void
  close(): Promise<void>
}

/** Metrics of payments for operators; states are read on each scrape. */
class PaymentMetrics {
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

  /** In the Prometheus text format. */
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

async function openShop({ provider, yookassa }: PaymentsConfig, clock: Clock): Promise<Shop> {
  if (provider === 'yookassa' && yookassa !== undefined) {
    const client = yookassaClient({ name: provider, clock, ...yookassa })
    return { provider: client, notifyTo: () => undefined, close: () => Promise.resolve() }
  }
  // Loaded only when the sandbox is configured.
  const { startPaymentSandbox } = await import('../sandbox/payments/payment-sandbox.ts')
  const sandbox = await startPaymentSandbox({ clock })
  const baseUrl = new URL(`${sandbox.origin}/v3`)
  const shop = { shopId: 'sandbox', secretKey: 'test_sandbox' }
  return {
    provider: yookassaClient({ name: provider, clock, baseUrl, ...shop }),
    notifyTo: url => sandbox.notifyTo(url),
    close: () => sandbox.close(),
  }
}

/** Opens payments where the config has them. */
export async function openPayments(options: PaymentsOptions): Promise<OpenPayments | undefined> {
  const { config, store, clock, log, alarm } = options
  if (config.payments === undefined) return undefined
  const current = { settings: config.payments, site: config.publicUrl }
  const shop = await openShop(config.payments, clock)
  const records = await store.records()
  const rows = new PaymentRows(records)
  const metrics = new PaymentMetrics(rows, clock)
  const service = new PaymentService({
    records,
    reports: store.reports,
    rows,
    auto: new AutoTopUpRows(records),
    provider: shop.provider,
    clock,
    log,
    alarm,
    settings: () => current.settings,
    returnUrl: id => new URL(`/balance/payments/${id}`, current.site).href,
  })
  // Reported at start, rather than when the first customer wants to pay.
  void checkShop(shop.provider, clock.now()).then(({ state, error }) => {
    if (state === 'known') log.info({ provider: shop.provider.name }, 'the payment provider knows the shop')
    else if (state === 'refused') alarm('provider_credentials', { error })
    else log.error({ error }, 'the payment provider cannot be reached; payments wait for it')
  })
  return {
    service,
    actions: paymentActions(service, store.reports, clock),
    metrics,
    setSite(url) {
      current.site = url
      shop.notifyTo(new URL(notificationsPath, url).href)
    },
    reload(next) {
      if (next.payments !== undefined) current.settings = next.payments
    },
    async close() {
      await service.close()
      await shop.close()
    },
  }
}
