import fc from 'fast-check'
import t from 'tap'
import type { Test } from 'tap'
import { Movements } from '../../../lib/payments/movements.ts'
import type { Movement } from '../../../lib/payments/movements.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../contracts/store-under-test.ts'
import type { OpenStore } from '../../contracts/store-under-test.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

const hour = 3_600_000

const step = fc.record({
  kind: fc.constantFrom('credit' as const, 'debit' as const, 'spend' as const),
  rub: fc.integer({ min: 1, max: 50 }),
  /** Hours before this step; 0 for a step at the same moment. */
  hours: fc.constantFrom(0, 0, 1, 9, 30),
})

/** All pages in sequence, each read from the end of the one before. */
async function allPages(
  movements: Movements,
  accountId: string,
  limit: number,
): Promise<readonly Movement[]> {
  const all: Movement[] = []
  for (;;) {
    const page = await movements.page(accountId, { before: all.at(-1), limit })
    all.push(...page)
    if (page.length < limit) return all
  }
}

async function checkHistory(t: Test, open: OpenStore, runs: number): Promise<void> {
  const clock = { at: Date.UTC(2026, 10, 1), now: () => clock.at }
  const store = await open(t, { clock })
  const movements = new Movements(await store.records())
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 14 }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, limit) => {
        const accountId = await accountWith(store, 0)
        const expected: number[] = []
        let balance = 0
        for (const { kind, rub, hours } of steps) {
          clock.at += hours * hour
          const amountMicros = roubles(rub)
          if (kind === 'credit') {
            await store.accounts.credit({ accountId, amountMicros, reason: 'test' })
            expected.unshift((balance += amountMicros))
          } else if (balance >= amountMicros) {
            if (kind === 'debit') {
              await store.accounts.debit({ accountId, amountMicros, reason: 'test' })
              expected.unshift((balance -= amountMicros))
            } else {
              // A charge has a moment of its own, so that the balance before it is unambiguous.
              clock.at += 1
              await store.ledger.charge(await holdOf(store, accountId, rub), chargeOf({ input: rub }))
              balance -= amountMicros
              clock.at += 1
            }
          }
          clock.at += 1
        }
        const pages = await allPages(movements, accountId, limit)
        const shown = pages.map(({ balanceMicros }) => balanceMicros)
        if (JSON.stringify(shown) !== JSON.stringify(expected))
          throw new Error(`${JSON.stringify(shown)} is not ${JSON.stringify(expected)}`)
      },
    ),
    { numRuns: runs },
  )
}

await t.test('each movement shows the balance after it, on every page, on SQLite', async t => {
  await checkHistory(t, openNew, 60)
})

await t.test('each movement shows the balance after it, on every page, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  await checkHistory(t, async (t, options) => openNode(t, await server.createDatabase(), options), 15)
})

await t.test('movements of one moment have a stable order, and none is lost between pages', async t => {
  const clock = { at: Date.UTC(2026, 10, 1), now: () => clock.at }
  const store = await openNew(t, { clock })
  const movements = new Movements(await store.records())
  const accountId = await accountWith(store, 0)
  for (const rub of [1, 2, 4, 8, 16])
    await store.accounts.credit({
      accountId,
      amountMicros: roubles(rub),
      reason: 'test',
      idempotencyKey: `ключ ${rub}`,
    })

  for (const limit of [1, 2, 3]) {
    const all = await allPages(movements, accountId, limit)
    t.equal(new Set(all.map(({ id }) => id)).size, 5, `${limit} a page`)
    t.equal(all[0]?.balanceMicros, roubles(31))
    for (const [index, one] of all.entries()) {
      const before = all[index + 1]?.balanceMicros ?? 0
      t.equal(one.balanceMicros - one.amountMicros, before)
    }
  }
})

await t.test('the repayment of a debt by a top-up is a movement of its own', async t => {
  const clock = { at: Date.UTC(2026, 10, 1), now: () => clock.at }
  const store = await openNew(t, { clock })
  const movements = new Movements(await store.records())
  const accountId = await accountWith(store, 10)
  clock.at += hour
  await store.ledger.charge(await holdOf(store, accountId, 10), chargeOf({ input: 40 }))
  clock.at += hour
  await store.accounts.credit({ accountId, amountMicros: roubles(100), reason: 'test' })

  t.match(await movements.page(accountId, { limit: 9 }), [
    { kind: 'repayment', amountMicros: -roubles(30), balanceMicros: roubles(70) },
    { kind: 'credit', amountMicros: roubles(100), balanceMicros: roubles(100) },
    { kind: 'credit', amountMicros: roubles(10), balanceMicros: roubles(10) },
  ])
})
