import fc from 'fast-check'
import type { Test } from 'tap'
import { AccountError } from '../../lib/accounts/accounts.ts'
import { correctCharge } from '../../lib/administration/correct-charge.ts'
import { listClosing } from '../../lib/documents/closing-documents.ts'
import { closeMonth } from '../../lib/documents/month-close.ts'
import { Movements } from '../../lib/payments/movements.ts'
import { seller } from '../fixtures/companies.ts'
import { chargeRoubles, companyAccount, noon } from './documents.ts'
import { accountWith, chargeOf, holdOf, roubles } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** Charges a request, and returns its id. */
async function charged(store: StoreUnderTest, accountId: string, cost: number, held = cost): Promise<string> {
  const hold = await holdOf(store, accountId, held)
  await store.ledger.charge(hold, chargeOf({ input: cost }))
  return hold.exchangeId
}

/** Corrects a charge to another sum. */
async function correct(
  store: StoreUnderTest,
  accountId: string,
  requestId: string,
  cost: number,
  at = 1000,
): ReturnType<typeof correctCharge> {
  const correction = {
    accountId,
    requestId,
    sequence: 0,
    costMicros: roubles(cost),
    reason: 'an empty answer',
  }
  return correctCharge(await store.records(), { ...correction, operator: 'olga' }, at)
}

async function balanceOf(store: StoreUnderTest, id: string): Promise<object> {
  const { balanceMicros, debtMicros, paidMicros, availableMicros } = await store.ledger.balance(id)
  return { balance: balanceMicros, debt: debtMicros, paid: paidMicros, available: availableMicros }
}

const sums = (balance: number, debt = 0, paid = 100): object => ({
  balance: roubles(balance),
  debt: roubles(debt),
  paid: roubles(paid),
  available: roubles(balance - debt),
})

/** The contract of corrections of charges, on every store. */
export async function correctionsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test(
    'a correction is an entry beside the charge, down, up again, and never above the original sum',
    async t => {
      const store = await open(t)
      const id = await accountWith(store, 100)
      const other = await accountWith(store, 100)
      const request = await charged(store, id, 40)

      t.match(await correct(store, id, request, 15), { revision: 1, returnedMicros: roubles(25) })
      t.same(await balanceOf(store, id), sums(85), 'the refund does not count as paid')
      t.match(await correct(store, id, request, 30), { revision: 2, returnedMicros: -roubles(15) })
      t.same(await balanceOf(store, id), sums(70))
      const refusals: readonly [() => Promise<unknown>, string][] = [
        [() => correct(store, id, request, 30), 'correction_refused'],
        [() => correct(store, id, request, 41), 'correction_refused'],
        [() => correct(store, other, request, 1), 'charge_not_found'],
        [() => correct(store, id, 'nothing', 1), 'charge_not_found'],
      ]
      for (const [refused, code] of refusals) await t.rejects(refused(), { name: 'AccountError', code })

      t.match(await store.charges(id), [{ requestId: request, amount: '40.000000', returned: '10.000000' }])
      const restarted = await store.restart()
      t.same(await balanceOf(restarted, id), sums(70))
      t.same(await balanceOf(restarted, other), sums(100))
      t.same(await restarted.verify(), [])
      const history = await new Movements(await restarted.records()).page(id, { limit: 10 })
      t.same(
        history.filter(({ kind }) => kind === 'correction').map(one => one.amountMicros),
        [-roubles(15), roubles(25)],
      )
    },
  )

  await t.test('concurrent corrections of one charge are made one after another, or refused', async t => {
    const store = await open(t)
    const id = await accountWith(store, 100)
    const request = await charged(store, id, 40)

    const results = await Promise.allSettled([10, 20, 30].map(cost => correct(store, id, request, cost)))

    const done = results.filter(one => one.status === 'fulfilled').map(one => one.value)
    t.same(
      done.map(({ revision }) => revision).toSorted((a, b) => a - b),
      done.map((_, index) => index + 1),
    )
    t.not(done.length, 0)
    for (const one of results) {
      if (one.status === 'rejected') t.match(one.reason, { code: 'correction_conflict' })
    }
    const returnedMicros = done.reduce((sum, one) => sum + one.returnedMicros, 0)
    t.same(await balanceOf(store, id), sums(60 + returnedMicros / roubles(1)))
    t.same(await store.verify(), [])
  })

  await t.test("a refund pays the account's debt first", async t => {
    const store = await open(t)
    const id = await accountWith(store, 100)
    const request = await charged(store, id, 130, 100)
    t.same(await balanceOf(store, id), sums(0, 30))

    await correct(store, id, request, 90)

    t.same(await balanceOf(store, id), sums(10))
    t.same(await store.verify(), [])
  })

  await t.test('a correction does not take money that running requests hold', async t => {
    const store = await open(t)
    const id = await accountWith(store, 100)
    const request = await charged(store, id, 40)
    await correct(store, id, request, 0)
    const hold = await holdOf(store, id, 70)

    await t.rejects(correct(store, id, request, 40), { code: 'balance_insufficient' })
    t.match(await correct(store, id, request, 30), { revision: 2 })

    await store.ledger.charge(hold, chargeOf({ input: 70 }))
    t.same(await balanceOf(store, id), sums(0))
    t.same(await store.verify(), [])
  })

  await t.test('a correction is in the document of its own month; a closed month never changes', async t => {
    let now = noon('2026-10-05')
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const id = await companyAccount(store, undefined, '2026-10-01', 1000)
    const request = await charged(store, id, 100)
    await closeMonth(records, seller, { month: '2026-10', at: noon('2026-11-02') })
    await correct(store, id, request, 40, noon('2026-11-10'))
    now = noon('2026-11-12')
    await chargeRoubles(store, id, 25)
    await closeMonth(records, seller, { month: '2026-11', at: noon('2026-12-02') })
    now = noon('2026-12-12')
    await chargeRoubles(store, id, 50)
    await closeMonth(records, seller, { month: '2026-12', at: noon('2027-01-02') })

    const all = await listClosing(records)
    // November is negative, so that its remaining 35 are deducted from December.
    t.same(
      all.map(one => [one.month, one.document.amount]),
      [
        ['2026-10', 10_000],
        ['2026-12', 1500],
      ],
    )
    t.same(await store.verify(), [])
  })

  await t.test('after any corrections in any order, the money adds up', async t => {
    const step = fc.record({ request: fc.nat(2), cost: fc.nat(60) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
        const store = await open(t)
        const id = await accountWith(store, 100)
        const costs = [20, 45, 50]
        const requests: string[] = []
        for (const cost of costs) requests.push(await charged(store, id, cost, Math.min(cost, 30)))
        const expected = [...costs]
        for (const { request, cost } of steps) {
          try {
            await correct(store, id, requests[request] ?? '', cost)
            expected[request] = cost
          } catch (error) {
            if (!(error instanceof AccountError)) throw error
          }
        }
        const { balanceMicros, debtMicros } = await store.ledger.balance(id)
        const spent = expected.reduce((sum, cost) => sum + cost, 0)
        t.equal(balanceMicros - debtMicros, roubles(100 - spent))
        t.same(await store.verify(), [])
      }),
      { numRuns: 5 },
    )
  })
}
