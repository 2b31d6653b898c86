import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../lib/platform/clock.ts'
import { openSqliteStore } from '../../lib/stores/sqlite/sqlite.ts'
import { accountWith, chargeOf, holdOf } from '../contracts/store-under-test.ts'
import { repeatCharge } from '../fixtures/large-store.ts'
import { plainNode, processEnvironment } from '../fixtures/process-environment.ts'

// Commands that read a large store while the gateway writes it.

const count = 250_000
const root = join(import.meta.dirname, '../..')
const folder = t.testdir()
const file = join(folder, 'gateway.db')
const configFile = join(folder, 'gateway.yaml')
writeFileSync(configFile, `store: sqlite:${file}\n`)

const open = () => openSqliteStore({ file, durability: 'strict', clock: systemClock })
const empty = await open()
const accountId = await accountWith({ ...empty, ...unused() }, 10_000_000)
await empty.ledger.charge(await holdOf(empty, accountId, 5), chargeOf({ input: 1 }))
await empty.close()
repeatCharge(file, accountId, count)

function unused() {
  const never = (): never => {
    throw new Error('nothing asks for it')
  }
  return { verify: never, charges: never, restart: never }
}

function gateway(...words: readonly string[]) {
  const program = join(root, 'bin/gateway.ts')
  return spawn('env', [...plainNode, program, ...words, '--config', configFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: processEnvironment,
  })
}

/** The peak memory of a process so far, in bytes. */
function peakBytes(pid: number | undefined): number {
  const [, kilobytes] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

for (const isJson of [true, false]) {
  await t.test(`charges ${isJson ? 'as lines' : 'as a table'} of a slow reader fit in memory`, async t => {
    const child = gateway('charges', ...(isJson ? ['--json'] : []))
    t.teardown(() => child.kill('SIGKILL'))
    // Long enough to read all of them into memory.
    await delay(6_000)
    const bytes = peakBytes(child.pid)

    let lines = 0
    for await (const line of createInterface({ input: child.stdout })) if (line !== '') lines += 1

    t.equal(lines, isJson ? count + 1 : count + 2)
    t.ok(bytes < 200 * 1024 * 1024, `at most ${Math.round(bytes / 1024 / 1024)} MB`)
    t.comment(`${Math.round(bytes / 1024 / 1024)} MB`)
  })
}

await t.test('a reader that leaves before the end of the charges ends the command', async t => {
  const child = gateway('charges', '--json')
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  child.stdout.destroy()

  const [code] = (await once(child, 'exit')) as [number | null]

  t.equal(code, 0)
})

await t.test(
  'verify of a store in use is right, needs little memory, and lets the log be reused',
  async t => {
    const store = await open()
    t.teardown(() => store.close())
    const child = gateway('verify', '--json')
    t.teardown(() => child.kill('SIGKILL'))
    const output = child.stdout.setEncoding('utf8').toArray()
    let isOver = false
    const exited = once(child, 'exit').then(() => (isOver = true))
    let bytes = 0
    let logBytes = 0
    let charged = 0

    while (!isOver) {
      await store.ledger.charge(await holdOf(store, accountId, 5), chargeOf({ input: 1 }))
      charged += 1
      if (!isOver) bytes = Math.max(bytes, peakBytes(child.pid) || 0)
      logBytes = Math.max(logBytes, statSync(`${file}-wal`).size)
    }
    await exited

    t.strictSame(JSON.parse((await output).join('')), { ok: true, breaches: [] })
    t.ok(charged > 100, `${charged} charges meanwhile`)
    t.ok(bytes < 250 * 1024 * 1024, `at most ${Math.round(bytes / 1024 / 1024)} MB`)
    // A charge adds 26 kB to a log that only grows.
    const logBytesMax = Math.max(32 * 1024 * 1024, charged * 12_000)
    t.ok(logBytes < logBytesMax, `the log at most ${Math.round(logBytes / 1024 / 1024)} MB`)
    t.comment(
      `${charged} charges, ${Math.round(bytes / 1048576)} MB, log ${Math.round(logBytes / 1048576)} MB`,
    )
  },
)
