import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { listInvoices } from '../../../../lib/documents/invoices.ts'
import type { Hold } from '../../../../lib/ledger/ledger.ts'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { newId } from '../../../../lib/platform/new-id.ts'
import { openForWriting } from '../../../../lib/stores/sqlite/sqlite-database.ts'
import { openSqliteStore } from '../../../../lib/stores/sqlite/sqlite.ts'
import { backupSqliteStore } from '../../../../lib/stores/sqlite/sqlite-backup.ts'
import { storeReports } from '../../../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../../../lib/stores/sqlite/sqlite-queries.ts'
import { newestVersion } from '../../../../lib/stores/shared/store-schema.ts'
import { sqliteSchema } from '../../../../lib/stores/sqlite/sqlite-prepare.ts'
import { paidInvoice } from '../../../contracts/accounting.ts'
import { ledgerContract } from '../../../contracts/ledger.ts'
import {
  accountWith,
  bothSums,
  chargeOf,
  holdOf,
  roubles,
  testPrice,
} from '../../../contracts/store-under-test.ts'
import { filesRecorded, recordFiles, uploadsOf } from '../../../fixtures/recorded-files.ts'
import { openFile, openNew } from '../open-store.ts'

await ledgerContract(t, openNew)

const open = (file: string) => openSqliteStore({ file, durability: 'strict', clock: systemClock })

await t.test('a second open is refused with the reason, and the first store keeps working', async t => {
  const store = await openNew(t)
  await t.rejects(open(store.file), { name: 'StoreLockedError', message: /open in another process/ })
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru' })
  t.equal((await store.ledger.balance(id)).balanceMicros, 0)
  await store.close()
  await (await open(store.file)).close()
})

await t.test('the lock also applies to other paths of the same store', async t => {
  const store = await openNew(t)
  symlinkSync(store.file, `${t.testdirName}/link.db`)
  symlinkSync(dirname(store.file), `${t.testdirName}/folder`)
  await t.rejects(open(`${t.testdirName}/link.db`), { name: 'StoreLockedError' })
  await t.rejects(open(`${t.testdirName}/folder/${basename(store.file)}`), { name: 'StoreLockedError' })
})

await t.test('the error of a store that cannot be created names the path', async t => {
  const dir = t.testdir({ file: '' })
  await t.rejects(open(`${dir}/file/gateway.db`), { name: 'StoreError', message: /cannot be made/ })
  await t.rejects(open(dir), { name: 'StoreError', message: /cannot be opened/ })
  // No user can create a file here, not even root.
  await t.rejects(open('/sys/kernel/gateway.db'), {
    name: 'StoreError',
    message:
      /^\/sys\/kernel\/gateway\.db\S* cannot be opened: .*; run this as the user who owns the store, or name/,
  })
})

await t.test('a store with a newer or too old schema is refused and left unchanged', async t => {
  const newest = newestVersion(sqliteSchema)
  for (const [version, reason] of [
    [newest + 1, /schema version \d+ .* newer release/],
    [1, /schema version 1, .* from version \d+: start a build that knows version \d+ once/],
  ] as const) {
    const store = await openNew(t)
    await store.close()
    const database = new Database(store.file)
    database.pragma(`user_version = ${version}`)
    database.close()
    const before = readFileSync(store.file)
    await t.rejects(open(store.file), { name: 'StoreError', message: reason })
    t.throws(() => new SqliteQueries(store.file), reason)
    t.same(readFileSync(store.file), before)
  }
})

await t.test('a store of the version before the baseline is migrated and keeps its money', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 5)
  const payer = await paidInvoice(store)
  await recordFiles(store, account)
  await store.close()
  const database = new Database(store.file)
  // Reverses the changes of the baseline and of the steps after it.
  database.exec(`ALTER TABLE accounts ADD COLUMN parent_account_id TEXT REFERENCES accounts (id);
    ALTER TABLE accounts ADD COLUMN price_list TEXT;
    DROP TABLE error_counts;
    DROP TABLE invoice_parts;
    DROP TABLE stored_uploads;
    DROP TABLE upload_sums`)
  database.pragma(`user_version = ${sqliteSchema.baseline.version - 1}`)
  database.close()
  t.throws(() => new SqliteQueries(store.file), /of an older release/)

  const opened = await openFile(t, store.file)

  t.equal((await opened.ledger.balance(account)).balanceMicros, roubles(5))
  const invoices = await listInvoices(await opened.records(), '2026-11-24', { accountId: payer })
  t.match(invoices, [{ state: 'paid', paid: 100 }])
  t.strictSame(await uploadsOf(opened, account), filesRecorded)
  t.strictSame(await opened.verify(), [])
  await opened.close()
  const after = new Database(store.file)
  t.equal(after.pragma('user_version', { simple: true }), newestVersion(sqliteSchema))
  t.strictSame(
    after.prepare(`SELECT name FROM pragma_table_info('accounts') WHERE name = 'price_list'`).all(),
    [],
  )
  after.close()
})

await t.test('a file that is no store is refused with the reason', async t => {
  const dir = t.testdir({
    'text.db': 'this is not a database, but long enough to be read as one. '.repeat(100),
  })
  await t.rejects(open(`${dir}/text.db`), { name: 'StoreError', message: /damaged or not a SQLite database/ })
  const foreign = new Database(`${dir}/foreign.db`)
  foreign.exec('CREATE TABLE users (id)')
  foreign.close()
  await t.rejects(open(`${dir}/foreign.db`), { name: 'StoreError', message: /not a store of the gateway/ })
})

await t.test('a damaged store is refused with the reason', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 1000)
  for (let index = 0; index < 200; index += 1) {
    await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ input: 1 }))
  }
  await store.close()
  const bytes = readFileSync(store.file)
  bytes.fill(0xa5, 20 * 4096, 24 * 4096)
  writeFileSync(store.file, bytes)
  await t.rejects(open(store.file), { name: 'StoreError', message: /damaged/ })
  await t.rejects(open(store.file), { name: 'StoreError' }, 'the lock was released')
})

await t.test('only the owner can read the files of the store', async t => {
  const store = await openNew(t)
  for (const suffix of ['', '-wal', '-shm', '.lock'])
    t.equal(statSync(store.file + suffix).mode & 0o777, 0o600, suffix)
  t.equal(statSync(dirname(store.file)).mode & 0o777, 0o700)
})

await t.test('the permissions of a lock file from an older release are restricted to its owner', async t => {
  const file = join(t.testdir({ 'gateway.db.lock': '' }), 'gateway.db')
  chmodSync(`${file}.lock`, 0o644)

  await openFile(t, file)

  t.equal(statSync(`${file}.lock`).mode & 0o777, 0o600)
})

await t.test('a world-writable folder is refused with the remedy', async t => {
  const folder = t.testdir()
  chmodSync(folder, 0o777)
  await t.rejects(openFile(t, join(folder, 'gateway.db')), { name: 'StoreError', message: /chmod o-w/ })

  chmodSync(folder, 0o1777)
  await t.resolves(
    openFile(t, join(folder, 'gateway.db')),
    'a sticky folder like /tmp is allowed, since only owners can replace files there',
  )
})

await t.test('permissions for others are removed from a store of an older release', async t => {
  const store = await openNew(t)
  await store.close()
  const files = ['', '-wal', '-shm'].map(suffix => store.file + suffix)
  for (const file of files) {
    writeFileSync(file, '', { flag: 'a' })
    chmodSync(file, 0o664)
  }

  await openFile(t, store.file)

  for (const file of files) t.equal(statSync(file).mode & 0o007, 0, file)
  t.equal(statSync(store.file).mode & 0o777, 0o660, 'the permissions of the group stay')
})

await t.test('the target folder of a symbolic link is checked too', async t => {
  const folder = t.testdir({ shared: {}, own: {} })
  chmodSync(join(folder, 'own'), 0o700)
  const store = await openFile(t, join(folder, 'shared', 'gateway.db'))
  await store.close()
  chmodSync(join(folder, 'shared'), 0o777)
  symlinkSync(join(folder, 'shared', 'gateway.db'), join(folder, 'own', 'gateway.db'))

  await t.rejects(openFile(t, join(folder, 'own', 'gateway.db')), {
    name: 'StoreError',
    message: /chmod o-w/,
  })
})

await t.test('strict: a hold is durable, and a charge returns, only once it is on the disk', async t => {
  const store = await openNew(t)
  const reader = storeReports(new SqliteQueries(store.file), { clock: systemClock })
  t.teardown(() => reader.close())
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 4)
  t.equal(hold.isDurable, false)
  await hold.durable
  t.equal((await reader.balance(account))?.heldMicros, roubles(4), 'a separate reader finds it')
  await store.ledger.charge(hold, chargeOf({ input: 3 }))
  t.match(await reader.balance(account), {
    balanceMicros: roubles(7),
    heldMicros: 0,
    availableMicros: roubles(7),
  })
})

await t.test('relaxed: holds and charges do not wait for the disk, and are written', async t => {
  const store = await openNew(t, { durability: 'relaxed' })
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 4)
  t.equal(hold.isDurable, true)
  await hold.durable
  await store.ledger.charge(hold, chargeOf({ input: 3 }))
  t.equal((await store.charges(account)).length, 0, 'the charge is not written yet')
  const again = await store.restart()
  t.equal((await again.charges(account)).length, 1)
  t.equal((await again.ledger.balance(account)).balanceMicros, roubles(7))
})

await t.test('holds left open are released and listed by the next start', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 4)
  await hold.durable
  await store.ledger.release(await holdOf(store, account, 1))
  const again = await store.restart()
  t.match(again.recovery.releasedHolds, [
    { exchangeId: hold.exchangeId, sequence: 0, accountId: account, keyId: 'key', likelyMicros: roubles(4) },
  ])
  t.equal(again.recovery.releasedHolds.length, 1)
  t.strictSame((await again.restart()).recovery.releasedHolds, [])
})

await t.test(
  'unresolved holds expire after 24 elapsed hours on any clock, and can still be charged',
  async t => {
    const hourMs = 3_600_000
    let now = Date.parse('2026-05-05T00:00:00Z')
    let elapsedMs = 0
    const store = await openNew(t, { clock: { now: () => now }, steadyClock: { now: () => elapsedMs } })
    const account = await accountWith(store, 10)
    const old = await holdOf(store, account, 4)
    for (const jumpMs of [hourMs, 48 * hourMs, -hourMs, -365 * 24 * hourMs, -now]) {
      now += jumpMs
      t.equal(await store.expireHolds(), 0, 'the clock was set, but no time has passed')
    }
    elapsedMs += 23 * hourMs
    await holdOf(store, account, 1)
    t.equal(await store.expireHolds(), 0)
    elapsedMs += hourMs
    t.equal(await store.expireHolds(), 1)
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(1))

    now = Date.parse('2026-05-06T00:00:00Z')
    // A later hold has first claim on the money.
    await holdOf(store, account, 7)
    const paid = await store.ledger.charge(old, chargeOf({ input: 3 }))
    t.match(paid, { amountMicros: roubles(2), overrunMicros: roubles(1) })
    await t.rejects(store.ledger.charge(old, chargeOf({ input: 1 })), { name: 'HoldResolvedError' })
    t.match(await store.ledger.balance(account), { balanceMicros: roubles(8), heldMicros: roubles(8) })

    const unused = await holdOf(store, account, 0)
    elapsedMs += 24 * hourMs
    t.equal(await store.expireHolds(), 3)
    t.match(await store.ledger.balance(account), { heldMicros: 0 })
    await t.resolves(store.ledger.release(unused), 'releasing an expired hold has no effect')
    t.strictSame(await (await store.restart()).verify(), [])
  },
)

await t.test('closing twice is harmless, and a closed store accepts no operation', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10)
  await Promise.all([store.close(), store.close()])
  await t.rejects(holdOf(store, account, 1), { name: 'LedgerUnavailableError' })
  await t.rejects(store.accounts.createAccount({ email: 'b@b.ru' }), { name: 'LedgerUnavailableError' })
})

await t.test('a backup is a complete, independent store', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10)
  await store.ledger.charge(await holdOf(store, account, 4), chargeOf({ input: 3 }))
  const copy = `${t.testdirName}/copy.db`
  await backupSqliteStore(store.file, copy)
  t.equal(statSync(copy).mode & 0o777, 0o600)
  await t.rejects(backupSqliteStore(store.file, copy), /exists already/)
  t.ok(existsSync(copy))
  const restored = await openFile(t, copy)
  t.equal((await restored.ledger.balance(account)).balanceMicros, roubles(7))
  t.strictSame(await restored.verify(), [])
})

await t.test('a job’s charge that the store refuses changes neither balance nor budget', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10)
  const { id: keyId } = await store.accounts.createKey({ accountId: account })
  const budget = { budgetMicros: roubles(10), period: 'total' } as const
  const hold = async (amount: number): Promise<Hold> =>
    store.ledger.placeHold({
      exchangeId: newId(),
      sequence: 0,
      accountId: account,
      keyId,
      ...bothSums(roubles(amount)),
      budget,
    })
  const held = await hold(5)
  const name = { provider: 'openai', kind: 'batch', id: 'batch_1' } as const
  await store.ledger.openJob(held, {
    ...name,
    credential: 'openai#1',
    dialect: 'openai',
    operation: 'batches',
    model: 'm',
    facts: { upstreamModel: 'm', priceVersions: { '': testPrice.hash } },
    nextPollAt: 0,
    deadlineAt: 9e12,
  })
  const job = await store.ledger.findJob(name)
  if (job === undefined) throw new Error('the job is not found')
  const foreign = new Database(store.file)
  // A charge that exists already, as only a manual edit can create it.
  foreign
    .prepare(
      `INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation, outcome,
         usage_source, lines, flags, amount_micros, overrun_micros)
       VALUES (?, 0, ?, ?, 0, 'p', 'm', 'd', 'o', 'completed', 'provider', '[]', '', 0, 0)`,
    )
    .run(held.exchangeId, account, keyId)
  foreign.close()

  await t.rejects(store.ledger.chargeJob(job, chargeOf({ input: 5 })), /UNIQUE/)

  t.match(await store.ledger.balance(account), { balanceMicros: roubles(10) })
  await t.rejects(hold(11), { name: 'KeyBudgetExceededError', budget: { spentMicros: 0 } })
  await store.ledger.release(await hold(10))
})

await t.test('a commit is synchronised to the disk', async t => {
  const database = openForWriting(`${t.testdir()}/new.db`)
  t.equal(database.pragma('journal_mode', { simple: true }), 'wal')
  t.equal(database.pragma('synchronous', { simple: true }), 2, 'FULL')
  t.equal(database.pragma('foreign_keys', { simple: true }), 1)
  database.close()
})

await t.test('thousands of exchanges share commits', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 100_000)
  const clients = 128
  const each = 40
  const began = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let count = 0; count < each; count += 1) {
        const hold = await holdOf(store, account, 1)
        await hold.durable
        await store.ledger.charge(hold, chargeOf({ input: 1 }))
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  t.comment(`${Math.round((clients * each) / seconds)} durable holds and charges per second`)
  t.equal((await store.ledger.balance(account)).balanceMicros, roubles(100_000 - clients * each))
  t.strictSame(await store.verify(), [])
})
