import t from 'tap'
import { zonedDayStart } from '../../../../lib/platform/clock.ts'
import { readSpenders, searchCharges } from '../../../../lib/stores/records/desk-queries.ts'
import { accountWith, chargeOf, holdOf, type OpenStore } from '../../../contracts/store-under-test.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { openNew } from '../open-store.ts'
import { openNode } from '../postgres/open-postgres.ts'

const server = await startPostgres(t)
const stores: Readonly<Record<string, OpenStore>> = {
  SQLite: openNew,
  PostgreSQL: async (t, options) => openNode(t, await server.createDatabase(), options),
}

for (const [name, open] of Object.entries(stores)) {
  await t.test(`charges are summed by the days of any time zone on ${name}`, async t => {
    let now = 0
    const store = await open(t, { clock: { now: () => now } })
    const records = await store.records()
    const accountId = await accountWith(store, 100)
    for (const [at, rub] of [
      ['2026-11-24T18:59:00Z', 1], // 23:59 in Yekaterinburg, 21:59 in Moscow
      ['2026-11-24T19:01:00Z', 2], // 00:01 on the 25th, and 22:01
      ['2026-11-24T21:01:00Z', 4], // 02:01, and 00:01 on the 25th
      ['2026-11-25T09:00:00Z', 8],
    ] as const) {
      now = Date.parse(at)
      await store.ledger.charge(await holdOf(store, accountId, rub), chargeOf({ input: rub }))
    }
    const sumOf = async (zone: string, daysBack = 0): Promise<unknown> => {
      const rows = await readSpenders(records, 'account', zonedDayStart(now, zone, daysBack))
      return rows.map(({ name, charges, micros }) => [name === accountId, charges, micros / 1_000_000])
    }

    t.same(await sumOf('Europe/Moscow'), [[true, 2, 12]])
    t.same(await sumOf('Asia/Yekaterinburg'), [[true, 3, 14]])
    t.same(await sumOf('UTC'), [[true, 1, 8]])
    t.same(await sumOf('UTC', 1), [[true, 4, 15]])
    t.same(await sumOf('America/New_York'), [[true, 1, 8]])

    const any = { requestId: '', accountId: '', model: '', outcome: '', limit: 9, offset: 0 }
    const found = async (more: { readonly from?: number; readonly until?: number; isDescending?: boolean }) =>
      (await searchCharges(records, { ...any, ...more })).map(one => one.amountMicros / 1_000_000)
    const [from, until] = [zonedDayStart(now, 'Asia/Yekaterinburg'), Date.parse('2026-11-25T09:00:00Z')]
    t.same(await found({}), [8, 4, 2, 1])
    t.same(await found({ isDescending: false }), [1, 2, 4, 8])
    t.same(await found({ from }), [8, 4, 2])
    t.same(await found({ from, until }), [4, 2], 'until is exclusive')
    t.same(await found({ until: from, isDescending: false }), [1])
    t.same(await found({ from: now + 86_400_000 }), [])
    t.same(await found({ until: from - 86_400_000 }), [])
    t.same(await searchCharges(records, { ...any, model: 'm', isDescending: false, from, limit: 1 }), [
      ...(await searchCharges(records, { ...any, from, offset: 2 })),
    ])
  })
}
