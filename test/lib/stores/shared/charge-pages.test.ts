import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import t from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import type { ChargesAfter } from '../../../../lib/ledger/reports.ts'
import { newId } from '../../../../lib/platform/new-id.ts'
import { openForWriting } from '../../../../lib/stores/sqlite/sqlite-database.ts'
import { openSqliteStore } from '../../../../lib/stores/sqlite/sqlite.ts'
import { storeCharges } from '../../../fixtures/stored-charges.ts'
import type { StoredCharge } from '../../../fixtures/stored-charges.ts'

const folder = mkdtempSync(join(tmpdir(), 'pages-'))
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
/** More rows than one page reads. */
const count = 45_000
const session = newId(begin)
const charges = Array.from({ length: count }, (_, index): StoredCharge & { readonly requestId: string } => ({
  // A session is charged turn by turn, with charges of other exchanges in between.
  requestId: index % 5_000 === 2 ? session : newId(begin + index),
  sequence: index % 5_000 === 2 ? index / 5_000 - (index % 5_000) / 5_000 : 0,
  accountId: index % 9 === 4 ? otherId : accountId,
  // Nodes write concurrently, so times do not rise with the ids, not even around midnight.
  at: begin + index * 2_000 + ((index * 7919) % 11) * 60_000,
  keyId: index % 44_000 === 11 ? 'rare' : index % 3 === 0 ? 'k1' : 'k2',
  amountMicros: index % 1000,
}))
storeCharges(file, charges)

type Found = readonly [requestId: string, sequence: number]

/** The charges of all pages, in order. */
async function walk(which: ChargesAfter, limit: number, pagesMax = 1000): Promise<readonly Found[]> {
  const found: Found[] = []
  let after: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const read = await store.reports.chargesPage(
      accountId,
      { ...which, ...(after !== undefined && { after }) },
      limit,
    )
    found.push(...read.charges.map(({ requestId, sequence }): Found => [requestId, sequence]))
    after = read.next
    if (after === undefined) return found
  }
  throw new Error(`there are more than ${pagesMax} pages`)
}

function expected({ keyId, since = 0 }: ChargesAfter): readonly Found[] {
  return charges
    .filter(charge => charge.accountId === accountId && charge.keyId === keyId && charge.at >= since)
    .map(({ requestId, sequence = 0 }): Found => [requestId, sequence])
}

const middle = begin + 50_000_000
const walks: Readonly<Record<string, ChargesAfter>> = {
  'a key': { keyId: 'k1' },
  'a key with a session': { keyId: 'k2' },
  'a rare key': { keyId: 'rare' },
  'a key from a moment on': { keyId: 'k1', since: middle },
  'a rare key from a moment on': { keyId: 'rare', since: middle },
  'an unknown key': { keyId: 'none' },
  'times in the future': { keyId: 'k1', since: begin + 10 ** 12 },
}

for (const [name, which] of Object.entries(walks)) {
  await t.test(`${name}: every charge once, the oldest first, in pages of any length`, async t => {
    t.strictSame(await walk(which, 1000), expected(which))
    t.strictSame(await walk(which, 777), expected(which))
  })
}

await t.test(
  'a page can end between two charges of one exchange, and the next one continues there',
  async t => {
    const own = charges.filter(charge => charge.accountId === accountId)
    const place = own.findIndex(({ requestId, sequence }) => requestId === session && sequence === 2)

    const page = await store.reports.chargesPage(accountId, { keyId: 'k2', after: `${session}.2` }, 3)

    t.ok(place > 0)
    t.strictSame(
      page.charges.map(({ requestId }) => requestId),
      own
        .slice(place + 1)
        .filter(({ keyId }) => keyId === 'k2')
        .slice(0, 3)
        .map(({ requestId }) => requestId),
    )
  },
)

await t.test('a page after an unknown charge or one of another account is empty', async t => {
  const foreign = charges.find(charge => charge.accountId === otherId)?.requestId ?? ''
  for (const after of [foreign, `${foreign}.0`, newId(begin), '']) {
    const page = await store.reports.chargesPage(accountId, { keyId: 'k1', after }, 10)
    t.strictSame(page, { charges: [] }, after)
  }
})

await t.test('a query of 1.5 million rows blocks the event loop for less than half its time', async t => {
  const many = 1_500_000
  const database = openForWriting(file)
  database.exec(`INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation,
      outcome, usage_source, lines, flags, amount_micros, overrun_micros)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many})
    SELECT 'many-' || i, 0, '${otherId}', 'many', ${begin}, 'p', 'm', 'openai', 'chat', 'completed', 'provider',
      '[]', '[]', 1, 0 FROM n`)
  database.close()
  await store.reports.charges(otherId, { keyId: 'many' })[Symbol.asyncIterator]().next()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const began = performance.now()

  // No row matches, so one query reads all of them.
  const none = await Array.fromAsync(store.reports.charges(otherId, { keyId: 'many', since: begin + 1 }))

  const tookMs = performance.now() - began
  delay.disable()
  const blockedMs = delay.max / 1e6
  t.strictSame(none, [])
  t.ok(tookMs > 100, `the query takes ${Math.round(tookMs)} ms`)
  t.ok(
    blockedMs < tookMs / 2,
    `the event loop was blocked for ${Math.round(blockedMs)} ms of ${Math.round(tookMs)}`,
  )
})
