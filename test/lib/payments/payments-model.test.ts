import t from 'tap'
import { openSandbox, openService } from '../../fixtures/payment-shop.ts'
import { paymentModel, type PaymentWorld } from '../../fixtures/payment-model.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

/** `npm run test:payments` sets thousands. */
const runs = Number(process.env['PAYMENT_RUNS'] ?? 15)

function newClock() {
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs }
  return clock
}

await t.test('each paid rouble is credited once, in any order, on SQLite', async t => {
  const clock = newClock()
  const store = await openNew(t, { clock })
  const sandbox = await openSandbox(t, clock)
  const openAnew = () => openService(t, store, sandbox, clock)
  const services: PaymentWorld['services'] = [await openAnew(), await openAnew()]

  await paymentModel(t, { store, sandbox, services, openAnew, clock }, runs)
})

await t.test('each paid rouble is credited once, in any order, with two nodes on PostgreSQL', async t => {
  const clock = newClock()
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  const store = await openNode(t, url, { clock })
  const other = await openNode(t, url, { clock })
  const sandbox = await openSandbox(t, clock)
  const openAnew = (which: 0 | 1) => openService(t, which === 0 ? store : other, sandbox, clock)
  const services: PaymentWorld['services'] = [await openAnew(0), await openAnew(1)]

  await paymentModel(t, { store, sandbox, services, openAnew, clock }, runs)
})
