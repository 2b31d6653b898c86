import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../../lib/clock.ts'
import { openSqliteStore } from '../../../lib/stores/sqlite.ts'
import { accountWith } from '../../contracts/ledger.ts'
import { openFile, openNew } from './open-store.ts'

const child = fileURLToPath(new URL('../../fixtures/charge-forever.ts', import.meta.url))
const cycles = 4

/** Runs the child until it has said this much, kills it in the middle of its work; what it said. */
async function killed(file: string, accountId: string, lines: number): Promise<string[]> {
  const running = spawn(process.execPath, [child, file, accountId], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  })
  let said = ''
  let count = 0
  let isRefused = false
  running.stdout.setEncoding('utf8')
  running.stdout.on('data', (text: string) => {
    said += text
    count += text.split('\n').length - 1
    if (count < lines) return
    if (!isRefused) {
      isRefused = true
      // Somebody else tries while the child is at work, and then it is killed.
      openSqliteStore({ file, durability: 'strict', clock: systemClock }).then(
        store => store.close().then(() => running.kill('SIGTERM')),
        () => running.kill('SIGKILL'),
      )
    }
  })
  const [code, signal] = await once(running, 'close')
  if (signal !== 'SIGKILL') throw new Error(`the child ended by itself or was not alone: ${code}, ${signal}`)
  return said.slice(0, said.lastIndexOf('\n')).split('\n')
}

function idsOf(lines: readonly string[], word: string): string[] {
  return lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length + 1))
}

await t.test('kill -9 loses nothing that was promised and leaves nothing held', async t => {
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
    t.strictSame(lost, [], 'every hold that was called durable is there')
    const uncharged = [...charged].filter(id => states.get(id) !== 'charged' || !charges.includes(id))
    t.strictSame(uncharged, [], 'every charge that was answered is there')
    t.equal(new Set(charges).size, charges.length, 'nothing is charged twice')
    for (const hold of again.recovery.releasedHolds) {
      if (charged.has(hold.exchangeId)) t.fail('a charged hold was released')
    }
    t.equal((await again.ledger.balance(account)).heldMicros, 0)
    t.strictSame(again.verify(), [])
    await again.close()
  }
})
