import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openSqliteStore } from '../../../../lib/stores/sqlite/sqlite.ts'
import { StoreLockedError } from '../../../../lib/stores/shared/store-queries.ts'
import { accountWith } from '../../../contracts/store-under-test.ts'
import { plainNode, processEnvironment } from '../../../fixtures/process-environment.ts'
import { openFile, openNew } from '../open-store.ts'

const child = fileURLToPath(new URL('../../../fixtures/charge-forever.ts', import.meta.url))
const cycles = 4

/** Runs the child until it has written `linesMin` lines, and kills it at work; returns its lines. */
async function killed(file: string, accountId: string, linesMin: number): Promise<string[]> {
  // A file, since its content outlives the child, and the child never waits for a reader.
  const outputFile = `${file}.output`
  const output = openSync(outputFile, 'w')
  const running = spawn('env', [...plainNode, child, file, accountId], {
    stdio: ['ignore', output, 'inherit'],
    env: processEnvironment,
  })
  const closed = once(running, 'close')
  closeSync(output)
  let lines: string[] = []
  while (lines.length < linesMin && running.exitCode === null) {
    await delay(10)
    lines = readFileSync(outputFile, 'utf8').split('\n')
  }
  const intruder = openSqliteStore({ file, durability: 'strict', clock: systemClock })
  const [intrusion] = await Promise.allSettled([intruder])
  running.kill('SIGKILL')
  const [code, signal] = await closed
  if (signal !== 'SIGKILL') throw new Error(`the child ended by itself: ${code}, ${signal}`)
  if (intrusion.status === 'fulfilled') throw new Error('the store had two writers')
  if (!(intrusion.reason instanceof StoreLockedError)) throw intrusion.reason
  return readFileSync(outputFile, 'utf8').split('\n').slice(0, -1)
}

function idsOf(lines: readonly string[], word: string): string[] {
  return lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length + 1))
}

await t.test(
  'only one process writes a store, and kill -9 of it loses no acknowledged operation and leaves no hold',
  async t => {
    const store = await openNew(t)
    const account = await accountWith(store, 10)
    await store.close()
    const charged = new Set<string>()
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const lines = await killed(store.file, account, 1500 + cycle * 333)
      const again = await openFile(t, store.file)
      const database = new Database(store.file, { readonly: true })
      const states = new Map<unknown, unknown>(
        database.prepare<[], [string, string]>('SELECT exchange_id, state FROM holds').raw().all(),
      )
      const charges = database.prepare('SELECT exchange_id FROM charges').pluck().all()
      database.close()
      for (const id of idsOf(lines, 'charged')) charged.add(id)
      const lost = idsOf(lines, 'held').filter(id => !states.has(id))
      t.strictSame(lost, [], 'every hold reported as durable exists')
      const uncharged = [...charged].filter(id => states.get(id) !== 'charged' || !charges.includes(id))
      t.strictSame(uncharged, [], 'every acknowledged charge exists')
      t.equal(new Set(charges).size, charges.length, 'nothing is charged twice')
      for (const hold of again.recovery.releasedHolds) {
        if (charged.has(hold.exchangeId)) t.fail('a charged hold was released')
      }
      t.equal((await again.ledger.balance(account)).heldMicros, 0)
      t.strictSame(await again.verify(), [])
      await again.close()
    }
  },
)
