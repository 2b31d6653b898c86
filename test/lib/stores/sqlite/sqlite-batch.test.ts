import t from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openStatements } from '../../../../lib/stores/shared/stored-accounts.ts'
import {
  releaseOperation,
  type ChargeOperation,
  type HoldOperation,
} from '../../../../lib/stores/shared/store-operation.ts'
import { SqliteBatch } from '../../../../lib/stores/sqlite/sqlite-batch.ts'
import { prepareStore } from '../../../../lib/stores/sqlite/sqlite-prepare.ts'
import { storeReports } from '../../../../lib/stores/shared/store-reports.ts'
import { SqliteQueries } from '../../../../lib/stores/sqlite/sqlite-queries.ts'

function openBatch(t: { testdir(): string; teardown(end: () => void): void }) {
  const { database } = prepareStore({ file: `${t.testdir()}/gateway.db`, now: 0 })
  t.teardown(() => database.close())
  const batch = new SqliteBatch(database)
  batch.run([
    {
      kind: 'statements',
      statements: openStatements({ id: 'a', userId: 'u', email: 'a@b.ru', name: null }, 0),
    },
    {
      kind: 'credit',
      id: 'credit:1',
      accountId: 'a',
      amountMicros: 1e6,
      reason: 'test',
      at: 0,
      source: 'operator',
    },
  ])
  const count = (table: string): unknown => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
  return { database, batch, count }
}

const owner = (exchangeId: string) => ({ exchangeId, sequence: 0, accountId: 'a', keyId: 'key' })

function hold(id: string): HoldOperation {
  const sums = { likelyMicros: 10, worstMicros: 10 }
  return { kind: 'hold', ...owner(id), ...sums, owner: 'test', at: 0, expiresAt: 1 }
}

const release = (id: string) => releaseOperation(owner(id), 'released', 1)

function charge(id: string, amountMicros: number, rawUsage: string | null = null): ChargeOperation {
  return {
    kind: 'charge',
    ...owner(id),
    at: 0,
    provider: 'p',
    model: 'm',
    dialect: 'd',
    operation: 'o',
    outcome: 'completed',
    usageSource: 'provider',
    lines: '[]',
    rawUsage,
    details: null,
    flags: '[]',
    amountMicros,
    overrunMicros: 0,
  }
}

await t.test('a batch writes all its operations', t => {
  const { batch, count } = openBatch(t)
  t.strictSame(batch.run([hold('x'), charge('x', 0), hold('y'), release('y')]), {
    answers: [],
    refusals: [],
  })
  t.equal(count('holds'), 2)
  t.equal(count('charges'), 1)
  t.end()
})

await t.test('an invalid operation is refused with its index, and the others are written', t => {
  const { database, batch, count } = openBatch(t)
  const report = batch.run([
    hold('x'),
    charge('nothing', 1),
    hold('x'),
    charge('x', 7),
    charge('x', 7),
    release('x'),
    hold('y'),
  ])
  t.equal(report.error, undefined)
  t.strictSame(
    report.refusals.map(([index, code]) => [index, code]),
    [
      [1, 'hold_not_open'],
      [2, 'operation_failed'],
      [4, 'hold_not_open'],
      [5, 'hold_not_open'],
    ],
  )
  t.equal(count('holds'), 2)
  t.equal(count('charges'), 1)
  t.equal(database.prepare(`SELECT balance_micros FROM accounts WHERE id = 'a'`).pluck().get(), 1_000_000 - 7)
  t.equal(database.prepare('SELECT spent_micros FROM key_spending').pluck().get(), 7)
  t.end()
})

await t.test('statements and transactions read the effects of earlier operations of their batch', t => {
  const { database, batch } = openBatch(t)
  const spent = {
    kind: 'statements',
    statements: [{ sql: 'SELECT spent_micros FROM key_spending', values: [] }],
  } as const
  t.match(batch.run([hold('x'), charge('x', 5), spent]).answers, [[2, [{ spent_micros: 5 }]]])

  const sql = "UPDATE accounts SET name = 'as before' WHERE id = 'a' AND balance_micros = ?"
  const asBefore = { kind: 'write', sql, values: [1e6 - 5], rows: 1 } as const
  const credit = { accountId: 'a', amountMicros: 7, reason: 'test', at: 0, source: 'operator' } as const
  const report = batch.run([
    { kind: 'credit', id: 'credit:2', ...credit },
    { kind: 'transaction', steps: [asBefore] },
  ])

  t.match(report, { answers: [[0, true]], refusals: [[1, 'record_conflict']] })
  t.equal(database.prepare("SELECT name FROM accounts WHERE id = 'a'").pluck().get(), null)
  t.end()
})

await t.test('a charge that would make a balance negative is refused by the store itself', t => {
  const { batch, count } = openBatch(t)
  const report = batch.run([hold('x'), charge('x', 1_000_001)])
  t.match(report.refusals, [[1, 'operation_failed', /CHECK constraint/]])
  t.equal(count('charges'), 0)
  t.end()
})

await t.test('when the disk is full, nothing of a batch is written, and it can be repeated', async t => {
  const { database, batch, count } = openBatch(t)
  const pages = Number(database.pragma('page_count', { simple: true }))
  database.pragma(`max_page_count = ${pages}`)
  const operations = [hold('x'), charge('x', 7, JSON.stringify({ text: 'z'.repeat(50_000) }))]
  t.match(batch.run(operations), { error: { code: 'SQLITE_FULL' }, answers: [], refusals: [] })
  t.equal(count('holds'), 0)
  database.pragma(`max_page_count = ${pages + 1000}`)
  t.strictSame(batch.run(operations), { answers: [], refusals: [] })
  t.equal(count('charges'), 1)
  const reports = storeReports(new SqliteQueries(database.name), { clock: systemClock })
  t.teardown(() => reports.close())
  t.strictSame(
    (await reports.verify()).filter(breach => !breach.startsWith('the lines')),
    [],
    'the sums of the failed batch are discarded',
  )
})

await t.test('charges, entries and holds cannot be changed or deleted', t => {
  const { database, batch } = openBatch(t)
  batch.run([hold('x'), charge('x', 7)])
  for (const table of ['charges', 'entries']) {
    t.throws(() => database.exec(`UPDATE ${table} SET amount_micros = 1`), /append-only/)
    t.throws(() => database.exec(`DELETE FROM ${table}`), /append-only/)
  }
  t.throws(() => database.exec('DELETE FROM holds'), /not deleted/)
  t.end()
})
