import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { stringify } from 'yaml'
import { systemClock } from '../../lib/platform/clock.ts'
import { ControlClient } from '../../lib/control/control-client.ts'
import { openReports } from '../../lib/stores/open-store.ts'
import type { Fault } from '../../lib/sandbox/payments/payment-sandbox.ts'
import { roubles } from '../contracts/store-under-test.ts'
import { startGatewayProcess, type GatewayProcess } from '../fixtures/gateway-process.ts'
import { openSandbox } from '../fixtures/payment-shop.ts'
import { until } from '../fixtures/until.ts'

/** `npm run test:payments` makes it 200. */
const kills = Number(process.env['PAYMENT_KILLS'] ?? 3)
const workers = 4
const faults: readonly Fault[] = ['applied-500', 'applied-202', 'applied-cut', '500', 'cut']

await t.test(
  `kill -9 ${kills} times in the middle of payments: each rouble is credited and refunded once`,
  { timeout: 120_000 + kills * 15_000 },
  async t => {
    const sandbox = await openSandbox(t)
    const folder = t.testdir()
    mkdirSync(join(folder, 'data'))
    const storeFile = join(folder, 'data', 'g.db')
    const config = join(folder, 'gateway.yaml')
    writeFileSync(
      config,
      stringify({
        listen: { port: 0 },
        store: `sqlite:${storeFile}`,
        providers: { sandbox: {} },
        payments: {
          provider: 'yookassa',
          yookassa: { shopId: '100500', secretKey: 'test_secret', baseUrl: `${sandbox.origin}/v3` },
          topUp: { rubMin: '1' },
          receipts: { vatCode: 1 },
        },
      }),
    )
    const control = new ControlClient(`${storeFile}.sock`)
    let gateway: GatewayProcess = await startGatewayProcess(t, config)
    const { id: accountId } = await control.createAccount({ email: 'a@example.org' })
    let refused = 0
    let cut = 0

    /** Makes payments, refunds and reconciliations until it is aborted; the kill interrupts some of them. */
    const work = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const dice = Math.random()
        try {
          if (dice < 0.1) sandbox.faults.push(faults[Math.floor(Math.random() * faults.length)] ?? '500')
          else if (dice < 0.6)
            await control.createPayment({
              accountId,
              amountMicros: roubles(1 + (Math.floor(dice * 1e4) % 500)),
            })
          else if (dice < 0.7) await control.reconcilePayments({ days: 1 })
          else {
            const paid = [...sandbox.shop.payments.values()].filter(({ status }) => status === 'succeeded')
            const one = paid[Math.floor(Math.random() * paid.length)]
            const paymentId = one?.body.metadata?.['payment_id']
            if (paymentId !== undefined)
              await control.refundPayment({
                paymentId,
                amountMicros: roubles(1 + Math.floor(Math.random() * 100)),
                reason: 'test',
              })
          }
        } catch (error) {
          if (signal.aborted) cut += 1
          else refused += 1
          t.ok(error instanceof Error)
        }
        for (const payment of sandbox.shop.payments.values())
          if (Math.random() < 0.3) sandbox.shop.pay(payment, 'bank_card')
      }
    }

    const paid = (): number =>
      [...sandbox.shop.payments.values()].filter(({ status }) => status === 'succeeded').length
    for (let kill = 0; kill < kills; kill += 1) {
      const stop = new AbortController()
      const before = paid()
      const working = Array.from({ length: workers }, () => work(stop.signal))
      // A slow machine may pay nothing in half a second, so the kill comes up to that long after a payment.
      await until(() => paid() > before)
      await delay(Math.random() * 500)
      stop.abort()
      await gateway.kill()
      await Promise.all(working)
      gateway = await startGatewayProcess(t, config)
    }

    sandbox.faults.length = 0
    const sums = (): { readonly paidIn: number; readonly paidOut: number } => {
      const made = [...sandbox.shop.payments.values()].filter(({ status }) => status === 'succeeded')
      return {
        paidIn: made.reduce((sum, { body }) => sum + roubles(Number(body.amount.value)), 0),
        paidOut: made.reduce((sum, { refundedKopecks }) => sum + roubles(refundedKopecks / 100), 0),
      }
    }
    const reports = await openReports({ kind: 'sqlite', file: storeFile }, systemClock)
    t.teardown(() => reports.close())
    const balance = async (): Promise<number> => (await reports.balance(accountId))?.balanceMicros ?? 0
    await t.resolves(
      until(async () => {
        await control.reconcilePayments({ days: 1 })
        const { paidIn, paidOut } = sums()
        return (await balance()) === paidIn - paidOut
      }, 90_000),
      'the balance equals the payments at the shop less the refunds',
    )
    const { paidIn, paidOut } = sums()
    t.equal(await balance(), paidIn - paidOut)
    t.ok(paidIn > 0, 'payments succeeded')
    const ids = [...sandbox.shop.payments.values()].map(({ body }) => body.metadata?.['payment_id'])
    t.equal(new Set(ids).size, ids.length, 'no payment was made twice')
    t.strictSame(await reports.verify(), [])
    t.comment({ payments: ids.length, paidIn, paidOut, refused, cut })
    await gateway.kill()
  },
)
