import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import type { ChargeSearch } from '../../../../lib/ledger/reports.ts'
import { budgetDay } from '../../../../lib/ledger/key-spending.ts'
import { openSqliteStore } from '../../../../lib/stores/sqlite/sqlite.ts'
import { storeCharges } from '../../../fixtures/stored-charges.ts'
import type { StoredCharge } from '../../../fixtures/stored-charges.ts'

const folder = mkdtempSync(join(tmpdir(), 'search-'))
const file = join(folder, 'gateway.db')
const store = await openSqliteStore({ file, durability: 'relaxed', clock: systemClock })
t.teardown(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})
const { id: accountId } = await store.accounts.createAccount({ email: 'a@example.org' })
const { id: otherId } = await store.accounts.createAccount({ email: 'b@example.org' })

/** A few minutes before midnight in Moscow. */
const begin = Date.parse('2026-05-05T20:50:00Z')
const day = budgetDay(begin)
/** More rows than one query and one page read. */
const count = 36_000
const charges = Array.from({ length: count }, (_, index): StoredCharge & { readonly requestId: string } => ({
  requestId: `request-${index}`,
  accountId: index % 9 === 4 ? otherId : accountId,
  // Nodes write concurrently, so times do not rise with the ids, not even around midnight.
  at: begin + index * 7_000 + ((index * 7919) % 11) * 60_000,
  keyId: index % 35_000 === 10 ? 'rare' : index % 3 === 0 ? 'k1' : 'k2',
  model: index % 17 === 1 ? 'm1' : 'm2',
  outcome: index % 4000 === 0 ? 'broken' : 'completed',
  amountMicros: index % 1000,
}))
storeCharges(file, charges)

function expected(search: ChargeSearch): readonly (typeof charges)[number][] {
  const { fromDay = 0, untilDay = Infinity, keyId, model, outcome } = search
  return charges
    .filter(
      charge =>
        charge.accountId === accountId &&
        budgetDay(charge.at) >= fromDay &&
        budgetDay(charge.at) <= untilDay &&
        (keyId === undefined || charge.keyId === keyId) &&
        (model === undefined || charge.model === model) &&
        (outcome === undefined || charge.outcome === outcome),
    )
    .toReversed()
}

const searches: Readonly<Record<string, ChargeSearch>> = {
  'all charges': {},
  'the first day': { untilDay: day },
  'a day in the middle': { fromDay: day + 1, untilDay: day + 1 },
  'a key': { keyId: 'k1' },
  'a rare key': { keyId: 'rare' },
  'a rare outcome': { outcome: 'broken' },
  'a key, a model and days': { keyId: 'k2', model: 'm1', fromDay: day + 1 },
  'a key and an outcome without a common charge': { keyId: 'rare', outcome: 'broken' },
  'days before the first charge': { untilDay: day - 1 },
  'an unknown model': { model: 'nothing' },
}

for (const [name, search] of Object.entries(searches)) {
  await t.test(`${name}: every charge once, the newest first, page by page and as a table`, async t => {
    const { reports } = store
    const wanted = expected(search)
    const ids = wanted.map(charge => charge.requestId)

    const found: string[] = []
    let before: number | undefined
    let pages = 0
    do {
      const page = await reports.findCharges(accountId, search, { before, limit: 700 })
      found.push(...page.charges.map(charge => charge.requestId))
      if (page.charges.length > 700) t.fail('a page is longer than its limit')
      before = page.next
      pages += 1
    } while (before !== undefined && pages < 1000)
    t.strictSame(found, ids)

    const exported: string[] = []
    for await (const some of reports.exportCharges(accountId, search)) {
      exported.push(...some.map(charge => charge.requestId))
    }
    t.strictSame(exported, ids)

    t.strictSame(await reports.chargesTotal(accountId, search), {
      charges: wanted.length,
      amountMicros: wanted.reduce((sum, charge) => sum + (charge.amountMicros ?? 0), 0),
    })
  })
}

await t.test('the names of charged models are those of the account', async t => {
  t.strictSame(await store.reports.chargedModels(accountId, 10), ['m1', 'm2'])
  t.strictSame(await store.reports.chargedModels(accountId, 1), ['m1'])
  t.strictSame(await store.reports.chargedModels('nobody', 10), [])
})
