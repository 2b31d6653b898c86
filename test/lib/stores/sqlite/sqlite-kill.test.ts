import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import { backupSqliteStore } from '../../../../lib/stores/sqlite/sqlite-backup.ts'
import { newestVersion } from '../../../../lib/stores/shared/store-schema.ts'
import { sqliteSchema } from '../../../../lib/stores/sqlite/sqlite-prepare.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import { plainNode, processEnvironment } from '../../../fixtures/process-environment.ts'
import { openFile, openNew } from '../open-store.ts'

const program = fileURLToPath(new URL('../../../fixtures/store-jobs.ts', import.meta.url))
/** `npm run test:crash` sets more. */
const rounds = Number(process.env['CRASH_ROUNDS'] ?? 2)

/** Runs a job and kills it `ms` after it began; returns its lines of output. */
async function killedAfter(ms: number, job: string, ...files: string[]): Promise<string[]> {
  // A file, since its content outlives the child, and the child never waits for a reader.
  const outputFile = `${files[0]}.output`
  const output = openSync(outputFile, 'w')
  const running = spawn('env', [...plainNode, program, job, ...files], {
    stdio: ['ignore', output, 'inherit'],
    env: processEnvironment,
  })
  const closed = once(running, 'close')
  closeSync(output)
  while (running.exitCode === null && !readFileSync(outputFile, 'utf8').includes('begun')) await delay(2)
  await delay(ms)
  running.kill('SIGKILL')
  await closed
  const lines = readFileSync(outputFile, 'utf8').trim().split('\n')
  rmSync(outputFile)
  return lines
}

function inspect<T>(file: string, read: (database: Database.Database) => T): T {
  const database = new Database(file)
  try {
    if (database.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error('the file is damaged')
    return read(database)
  } finally {
    database.close()
  }
}

/** Moments spread evenly over a span, each with a random offset. */
const moments = (spanMs: number): number[] =>
  Array.from({ length: rounds }, (_, round) => (spanMs * (round + Math.random())) / rounds)

await t.test('a store killed during its creation is created by the next start', async t => {
  const folder = t.testdir()
  for (const [round, ms] of moments(60).entries()) {
    const file = `${folder}/new-${round}.db`
    await killedAfter(ms, 'create', file)
    const store = await openFile(t, file)
    const account = await accountWith(store, 5)
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(5))
    t.strictSame(await store.verify(), [])
    await store.close()
  }
})

await t.test('a store killed during a migration has all of the step or none', async t => {
  const folder = t.testdir()
  const found = new Set<number>()
  const newest = newestVersion(sqliteSchema)
  for (const [round, ms] of moments(500).entries()) {
    const file = `${folder}/old-${round}.db`
    const store = await openFile(t, file)
    await accountWith(store, 5)
    await store.close()
    await killedAfter(ms, 'migrate', file)
    inspect(file, database => {
      const version = Number(database.pragma('user_version', { simple: true }))
      const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name LIKE 'filled%'`).all()
      found.add(version)
      if (version === newest) t.strictSame(tables, [])
      else {
        t.equal(version, newest + 1)
        t.equal(tables.length, 2)
        t.equal(database.prepare('SELECT count(*) FROM filled').pluck().get(), 150_000)
      }
      t.equal(
        database.prepare(`SELECT count(*) FROM entries`).pluck().get(),
        2,
        'the rows from before are kept',
      )
    })
  }
  t.comment(`versions found: ${[...found].join(', ')}`)
})

await t.test('a store killed during a checkpoint has every committed row', async t => {
  const store = await openNew(t)
  await accountWith(store, 5)
  await store.close()
  let committed = 0
  for (const ms of moments(400)) {
    const lines = await killedAfter(ms, 'checkpoint', store.file)
    committed += lines.filter(line => line === 'committed').length * 50
    const found = inspect(store.file, database =>
      Number(database.prepare('SELECT count(*) - 1 FROM users').pluck().get()),
    )
    t.ok(found >= committed && found <= committed + 50, `${committed} committed, ${found} found`)
    committed = found
  }
  t.ok(committed > 0)
  const again = await openFile(t, store.file)
  t.strictSame(await again.verify(), [])
})

await t.test('killing a backup leaves the store working and no incomplete copy', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10_000)
  inspect(store.file, database =>
    database.exec(`INSERT INTO users (id, email, created_at)
      WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 40000)
      SELECT hex(randomblob(16)), hex(randomblob(400)), 0 FROM counter`),
  )
  const copy = `${store.file}.copy`
  const found = new Set<boolean>()
  for (const ms of moments(300)) {
    const killed = killedAfter(ms, 'backup', store.file, copy)
    await store.ledger.charge(await holdOf(store, account, 2), chargeOf({ input: 1 }))
    await killed
    found.add(existsSync(copy))
    if (existsSync(copy)) {
      inspect(copy, database => t.equal(database.prepare('SELECT count(*) FROM users').pluck().get(), 40_001))
    }
    rmSync(copy, { force: true })
  }
  t.comment(`complete copies found: ${[...found].join(', ')}`)
  await backupSqliteStore(store.file, copy)
  t.notOk(existsSync(`${copy}.partial`), 'partial copies are deleted')
  const restored = await openFile(t, copy)
  t.equal((await restored.ledger.balance(account)).balanceMicros, roubles(10_000 - rounds))
  t.equal((await store.ledger.balance(account)).balanceMicros, roubles(10_000 - rounds))
})
