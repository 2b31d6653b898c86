import { loadConfig } from '../../../lib/config/load-config.ts'
import { moscowDay } from '../../../lib/ledger/moscow-days.ts'
import { systemClock } from '../../../lib/platform/clock.ts'
import type { PaymentSandbox } from '../../../lib/sandbox/payments/payment-sandbox.ts'
import { startPaymentSandbox } from '../../../lib/sandbox/payments/payment-sandbox.ts'
import { plugins } from '../../../plugins/index.ts'
import { runHere } from '../../cli/run-gateway.ts'
import { startCentralBank } from '../../fixtures/central-bank.ts'
import { callConfig, dialectCalls, type DialectCall } from '../../fixtures/dialect-call.ts'
import { plainAnswer, startRawUpstream } from '../../fixtures/raw-upstream.ts'
import { startTestGateway } from '../../fixtures/test-gateway.ts'
import { admin, adminUrlOf, ask, json, sandbox } from './fault.ts'
import type { Fault } from './fault.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const day = (offset: number): string => moscowDay(Date.now() + offset * 86_400_000)

interface Shop {
  readonly provider: PaymentSandbox
  /** How far the gateway's clock is ahead of the machine's: a test cannot wait for hours. */
  readonly time: { aheadMs: number }
  /** Creates a payment of 500 roubles. */
  pay(): Promise<unknown>
  run(...words: string[]): Promise<unknown>
}

/** A gateway whose payment provider is a sandbox of its own. */
function withShop(alert: string, cause: string, strike: (shop: Shop) => Promise<unknown>): Fault {
  return {
    alert,
    cause,
    async start(t) {
      const provider = await startPaymentSandbox({ clock: systemClock })
      t.teardown(() => provider.close())
      const yookassa = { shopId: 'sandbox', secretKey: 'test_sandbox', baseUrl: `${provider.origin}/v3` }
      const time = { aheadMs: 0 }
      const gateway = await startTestGateway(t, {
        config: {
          ...sandbox,
          admin,
          payments: { provider: 'yookassa', yookassa, receipts: { vatCode: 1 } },
        },
        clock: { now: () => systemClock.now() + time.aheadMs },
      })
      const run = (...words: string[]) => runHere([...words, '--config', gateway.configFile])
      const pay = () => run('payment', 'create', '--account', gateway.accountId, '--rub', '500')
      return { adminUrl: adminUrlOf(gateway), strike: () => strike({ provider, time, pay, run }) }
    },
  }
}

/** Faults of money. */
export const moneyFaults: readonly Fault[] = [
  {
    alert: 'GatewayOverrun',
    cause: 'usage costs more than the account has',
    async start(t) {
      const usage = { prompt_tokens: 10, completion_tokens: 1_000_000, total_tokens: 1_000_010 }
      const document = JSON.stringify({ ...(JSON.parse(openai.document) as object), usage })
      const upstream = await startRawUpstream(t, () => plainAnswer(200, json, document))
      const gateway = await startTestGateway(t, {
        config: callConfig(upstream.origin, {}, { admin }),
        rub: 50,
      })
      return { adminUrl: adminUrlOf(gateway), strike: () => ask(gateway) }
    },
  },
  {
    alert: 'GatewayRateHeld',
    cause: 'the exchange rate jumps',
    async start(t) {
      const bank = await startCentralBank(t, { [day(0)]: '90,0000' })
      const gateway = await startTestGateway(t, {
        config: {
          providers: sandbox.providers,
          models: { 'sandbox-chat': { provider: 'sandbox', usdPerMillion: { input: '1', output: '3' } } },
          admin,
          prices: {
            usdRub: { from: 'cbr', marginPercent: 2, changePercentMax: 5, url: bank.url },
            coefficient: '1.30',
          },
        },
      })
      return {
        adminUrl: adminUrlOf(gateway),
        async strike() {
          bank.rates.set(day(1), '120,0000')
          await gateway.gateway.reload(loadConfig(gateway.configFile, { env: {}, plugins }).config)
        },
      }
    },
  },
  withShop('GatewayPaymentDiffers', 'a reconciliation finds a difference', async shop => {
    await shop.pay()
    const { payments } = shop.provider.shop
    for (const [id, payment] of payments) {
      const body = { ...payment.body, amount: { value: '5.00', currency: 'RUB' as const } }
      payments.set(id, { ...payment, status: 'succeeded', body })
    }
    await shop.run('payment', 'reconcile')
  }),
  withShop('GatewayPaymentStuck', 'a payment is neither paid nor canceled for three hours', async shop => {
    await shop.pay()
    shop.time.aheadMs = 3 * 3_600_000
  }),
  withShop('GatewayReceiptFailed', 'the fiscal register refuses a receipt', async shop => {
    const { shop: register } = shop.provider
    register.temper.receipts = 'canceled'
    await shop.pay()
    for (const payment of register.payments.values()) register.pay(payment, 'bank_card')
    await shop.run('payment', 'reconcile')
  }),
]
