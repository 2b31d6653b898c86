import type { Clock } from '../clock.ts'
import type { Config, PaymentsConfig } from '../config/config.ts'
import type { Log } from '../log.ts'
import type { Store } from '../stores/store.ts'
import { Movements } from './movements.ts'
import { paymentActions } from './payment-actions.ts'
import type { PaymentActions } from './payment-actions.ts'
import { PaymentRows } from './payment-rows.ts'
import { unspentOf } from './payment-rules.ts'
import { PaymentService } from './payment-service.ts'
import { ProviderError } from './payment-provider.ts'
import type { PaymentProvider } from './payment-provider.ts'
import type { Payment } from './payment-rows.ts'
import { yookassaClient } from './yookassa/yookassa-client.ts'

interface PaymentsOptions {
  readonly config: Config
  readonly store: Pick<Store, 'records' | 'reports'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

/** The path below the account area's address to which the provider sends notifications. */
export const notificationsPath = '/payments/yookassa/notifications'

/** Payments, as they run. */
export interface OpenPayments {
  readonly service: PaymentService
  /** What an operator can do with them. */
  readonly actions: PaymentActions
  /** Says where customers find the account area: payments return there, and the sandbox notifies it. */
  setSite(url: URL): void
  reload(config: Config): void
  close(): Promise<void>
}

interface Shop {
  readonly provider: PaymentProvider
  notifyTo(url: string): void
  close(): Promise<void>
}

async function openShop({ provider, yookassa }: PaymentsConfig, clock: Clock): Promise<Shop> {
  if (provider === 'yookassa' && yookassa !== undefined) {
    const client = yookassaClient({ name: provider, ...yookassa })
    return { provider: client, notifyTo: () => undefined, close: () => Promise.resolve() }
  }
  // Loaded only to try payments out.
  const { startPaymentSandbox } = await import('../sandbox/payments/payment-sandbox.ts')
  const sandbox = await startPaymentSandbox({ clock })
  const baseUrl = new URL(`${sandbox.origin}/v3`)
  return {
    provider: yookassaClient({ name: provider, baseUrl, shopId: 'sandbox', secretKey: 'test_sandbox' }),
    notifyTo: url => sandbox.notifyTo(url),
    close: () => sandbox.close(),
  }
}

/** What of a payment is not spent: money is spent in the order in which it came in. */
function unspent(store: Pick<Store, 'reports'>, rows: PaymentRows, movements: Movements) {
  return async (payment: Payment): Promise<number> => {
    const {
      id,
      account_id: accountId,
      amount_micros: amountMicros,
      refunded_micros: refundedMicros,
    } = payment
    const refunds = await rows.refunds(accountId, 10_000)
    const own = refunds
      .filter(refund => refund.payment_id === id)
      .flatMap(refund => [`refund:${refund.id}`, `refund-canceled:${refund.id}`])
    const [balance, later] = await Promise.all([
      store.reports.balance(accountId),
      movements.netSince(accountId, payment.credited_at ?? 0, [`payment:${id}`, ...own]),
    ])
    return unspentOf({ amountMicros, refundedMicros }, balance?.availableMicros ?? 0, Math.max(0, later))
  }
}

/** Opens payments where the config has them. */
export async function openPayments(options: PaymentsOptions): Promise<OpenPayments | undefined> {
  const { config, store, clock, log } = options
  if (config.payments === undefined) return undefined
  const current = { settings: config.payments, site: config.publicUrl }
  const shop = await openShop(config.payments, clock)
  const records = await store.records()
  const rows = new PaymentRows(records)
  const service = new PaymentService({
    rows,
    provider: shop.provider,
    clock,
    log,
    settings: () => current.settings,
    returnUrl: id => new URL(`/balance/payments/${id}`, current.site).href,
    unspent: unspent(store, rows, new Movements(records)),
  })
  void checkCredentials(shop.provider, clock, log)
  return {
    service,
    actions: paymentActions(service, store.reports, clock),
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

/** Says at the start that a shop's key is wrong, and not when the first customer wants to pay. */
async function checkCredentials(
  provider: PaymentProvider,
  clock: Clock,
  log: PaymentsOptions['log'],
): Promise<void> {
  try {
    const now = clock.now()
    for await (const payment of provider.payments(now - 1000, now)) {
      log.info({ payment: payment.id }, 'the payment provider answers')
      break
    }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const remedy =
      error.failure === 'credentials'
        ? 'the payment provider refuses the shop: check payments.yookassa.shopId and secretKey'
        : 'the payment provider cannot be reached; payments wait for it'
    log.error({ error }, remedy)
  }
}
