import { randomBytes } from 'node:crypto'
import t from 'tap'
import { listInvoices } from '../../../../lib/documents/invoices.ts'
import { postgresSchema } from '../../../../lib/stores/postgres/postgres-schema.ts'
import { openPostgresQueries } from '../../../../lib/stores/postgres/postgres-queries.ts'
import { paidInvoice } from '../../../contracts/accounting.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import { inDatabase } from '../../../fixtures/in-database.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { until } from '../../../fixtures/until.ts'
import { filesRecorded, recordFiles, uploadsOf } from '../../../fixtures/recorded-files.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

await t.test('a database with a newer or too old schema is refused', async t => {
  const url = await server.createDatabase()
  await (await openNode(t, url)).close()
  for (const [version, reason] of [
    [99, /schema version 99 .* newer release/],
    [1, /schema version 1, .* start a build that knows version \d+ once/],
  ] as const) {
    await inDatabase(url, client => client.query('UPDATE gateway_schema SET version = $1', [version]))
    await t.rejects(openNode(t, url), { name: 'StoreError', message: reason })
    await t.rejects(openPostgresQueries(url), { name: 'StoreError', message: reason })
  }
})

await t.test('a database of the version before the baseline is migrated and keeps its data', async t => {
  const url = await server.createDatabase()
  const first = await openNode(t, url)
  const account = await accountWith(first, 10)
  const payer = await paidInvoice(first)
  await recordFiles(first, account)
  await first.close()
  const before = postgresSchema.baseline.version - 1
  await inDatabase(url, async client => {
    await client.query('ALTER TABLE accounts ADD COLUMN parent_account_id TEXT REFERENCES accounts (id)')
    await client.query('ALTER TABLE accounts ADD COLUMN price_list TEXT')
    // Steps after the baseline added these.
    await client.query(
      'DROP TABLE error_counts, invoice_parts, stored_uploads, upload_sums; DROP FUNCTION sum_uploads',
    )
    await client.query('UPDATE gateway_schema SET version = $1', [before])
  })
  await t.rejects(openPostgresQueries(url), { name: 'StoreError', message: /older release/ })

  const second = await openNode(t, url)

  t.equal(second.isNew, false)
  t.match(await second.ledger.balance(account), { balanceMicros: 10_000_000 })
  const invoices = await listInvoices(await second.records(), '2026-11-24', { accountId: payer })
  t.match(invoices, [{ state: 'paid', paid: 100 }])
  t.strictSame(await uploadsOf(second, account), filesRecorded)
  await second.ledger.charge(await holdOf(second, account, 4), chargeOf({ input: 3 }))
  t.strictSame(await second.verify(), [])
  await inDatabase(url, async client => {
    const { rows } = await client.query(
      `SELECT 1 FROM information_schema.columns WHERE table_name = 'accounts' AND column_name = 'price_list'`,
    )
    t.strictSame(rows, [])
  })
})

await t.test('no timeout of the database ends a full read, even while it pauses', async t => {
  const url = await server.createDatabase()
  await (await openNode(t, url)).close()
  const queries = await openPostgresQueries(url)
  t.teardown(() => queries.close())
  const timeouts = `SELECT name, setting FROM pg_settings
    WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout') ORDER BY name`
  const settings = (ms: string) => [
    { name: 'idle_in_transaction_session_timeout', setting: ms },
    { name: 'statement_timeout', setting: ms },
  ]

  t.strictSame(await queries.withoutHurry(async own => own.all(timeouts)), settings('0'))
  t.strictSame(await queries.all(timeouts), settings('10000'), 'other readers keep their timeouts')
})

await t.test('a missing database, and one without a store, are errors that say so', async t => {
  const url = await server.createDatabase()
  await t.rejects(openPostgresQueries(url), {
    name: 'StoreError',
    message: /no store.*account create/,
  })
  const nowhere = `${url}_that_is_not_there`
  await t.rejects(openPostgresQueries(nowhere), {
    name: 'StoreError',
    message: /does not exist/,
  })
  const [refused] = await Promise.allSettled([openNode(t, 'postgres://u:secret@127.0.0.1:1/x')])
  const reason = refused.status === 'rejected' ? refused.reason : undefined
  t.match(reason, { name: 'StoreError', message: /database x on 127.0.0.1:1 cannot be opened.*ECONNREFUSED/ })
  t.notMatch(String(reason), /secret/)
})

await t.test('charges, entries and holds cannot be changed or deleted', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  await store.ledger.charge(await holdOf(store, account, 4), chargeOf({ input: 3 }))
  await inDatabase(url, async client => {
    for (const table of ['charges', 'entries']) {
      await t.rejects(client.query(`UPDATE ${table} SET amount_micros = 1`), /append-only/)
      await t.rejects(client.query(`DELETE FROM ${table}`), /append-only/)
      await t.rejects(client.query(`TRUNCATE ${table}`), /append-only/)
    }
    await t.rejects(client.query('DELETE FROM holds'), /not deleted/)
    await t.rejects(client.query('UPDATE accounts SET held_micros = 8000000'), /never_overspent/)
  })
  t.strictSame(await store.verify(), [])
})

await t.test('a hold that was abandoned before it reached the database is refused there', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  const hold = { account, exchange: 'late', sequence: 0, key: 'key', at: 1, owner: 'node', expires: 2 }
  await inDatabase(url, async client => {
    const apply = async (operation: object): Promise<unknown> => {
      const { rows } = await client.query('SELECT ending FROM apply_operations($1)', [
        JSON.stringify([{ i: 0, ...hold, ...operation }]),
      ])
      return rows
    }
    await apply({ kind: 'abandon', amount: 0, state: 'released' })
    t.strictSame(await apply({ kind: 'hold', amount: 5 }), [{ ending: 'hold_exists' }])
  })
  t.equal((await store.ledger.balance(account)).heldMicros, 0)
  t.strictSame(await store.verify(), [])
})

await t.test('characters that the database cannot store are replaced', async t => {
  const store = await openNode(t, await server.createDatabase())
  const account = await accountWith(store, 10)
  const odd = 'a\0b\ud800c'
  await store.ledger.charge(
    await holdOf(store, account, 4),
    chargeOf({ input: 3 }, { model: odd, rawUsage: odd }),
  )
  t.match(await store.charges(account), [{ model: 'a\ufffdb\ufffdc', amount: '3.000000' }])
})

await t.test('a strict gateway turns synchronous_commit on even where the database has it off', async t => {
  const url = await server.createDatabase()
  await inDatabase(url, client =>
    client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`),
  )
  for (const [durability, expected] of [
    ['strict', 'on'],
    ['relaxed', 'off'],
  ] as const) {
    const store = await openNode(t, url, { durability })
    const account = await accountWith(store, 10)
    await inDatabase(url, client =>
      client.query(`CREATE OR REPLACE FUNCTION tell_commit() RETURNS TRIGGER LANGUAGE plpgsql AS $$
        BEGIN NEW.model := current_setting('synchronous_commit'); RETURN NEW; END $$;
        CREATE OR REPLACE TRIGGER tell BEFORE INSERT ON charges FOR EACH ROW EXECUTE FUNCTION tell_commit()`),
    )
    await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ input: 1 }))
    t.match(await store.charges(account), [{ model: expected }], durability)
  }
})

await t.test('the hold of a charge that the database refuses for good is released', async t => {
  const store = await openNode(t, await server.createDatabase())
  const account = await accountWith(store, 10)
  // Longer than an index allows, and random, so that compression cannot shorten it.
  const model = randomBytes(4000).toString('hex')
  await t.rejects(store.ledger.charge(await holdOf(store, account, 4), chargeOf({ input: 3 }, { model })), {
    code: 'operation_failed',
  })
  await until(async () => (await store.ledger.balance(account)).heldMicros === 0)
  t.equal((await store.ledger.balance(account)).balanceMicros, roubles(10))
  t.strictSame(await store.verify(), [])
})

await t.test('thousands of exchanges share commits', async t => {
  const store = await openNode(t, await server.createDatabase())
  const accounts = await Promise.all(Array.from({ length: 16 }, () => accountWith(store, 10_000)))
  const clients = 256
  const each = 16
  const began = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let count = 0; count < each; count += 1) {
        const hold = await holdOf(store, accounts[client % 16] ?? '', 1)
        await store.ledger.charge(hold, chargeOf({ input: 1 }))
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  t.comment(`${Math.round((clients * each) / seconds)} durable holds and charges per second`)
  t.strictSame(await store.verify(), [])
})
