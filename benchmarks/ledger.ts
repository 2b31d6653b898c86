import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import type { ChargeRequest } from '../lib/ledger/ledger.ts'
import { buildPrice } from '../lib/money/build-price.ts'
import { newId } from '../lib/new-id.ts'
import { openPostgresStore } from '../lib/stores/postgres.ts'
import { openSqliteStore } from '../lib/stores/sqlite.ts'
import type { Store } from '../lib/stores/store.ts'
import { startPostgresServer } from './postgres-server.ts'

// Durable charges a second and how long a charge takes to be on the disk. `--seconds 5` measures longer,
// `--folder /data` measures the disk that is there.

const accountCount = 64

interface Measured {
  readonly store: string
  readonly clients: number
  readonly chargesPerSecond: number
  /** Milliseconds from the call of `charge` until the disk has it. */
  readonly lagP50Ms: number
  readonly lagP99Ms: number
}

function option(name: string, otherwise: string): string {
  const index = process.argv.indexOf(`--${name}`)
  return process.argv[index + 1] !== undefined && index !== -1 ? String(process.argv[index + 1]) : otherwise
}

const price = buildPrice({
  model: 'gpt-5',
  rubPerMillion: { input: '125', cachedInput: '12.5', output: '1000' },
})

/** What an ordinary chat answer leaves behind. */
const charge: ChargeRequest = {
  provider: 'openai',
  model: 'gpt-5',
  dialect: 'openai',
  operation: 'chat',
  outcome: 'completed',
  usageSource: 'provider',
  lines: [{ usage: { meters: { input: 1200, cachedInput: 300, output: 450 } }, price }],
  rawUsage:
    '{"prompt_tokens":1500,"completion_tokens":450,"total_tokens":1950,"prompt_tokens_details":{"cached_tokens":300},"completion_tokens_details":{"reasoning_tokens":128}}',
  details: { reasoning: 128 },
  flags: [],
}

async function openAccounts(store: Store): Promise<string[]> {
  return Promise.all(
    Array.from({ length: accountCount }, async (_, index) => {
      const { id } = await store.accounts.createAccount({ email: `client-${index}@example.org` })
      await store.accounts.credit({ accountId: id, amountMicros: 1e15, reason: 'benchmark' })
      return id
    }),
  )
}

/** As an exchange does it: a hold, a wait until it is on the disk, a charge, a wait again. */
async function run(name: string, store: Store, clients: number, seconds: number): Promise<Measured> {
  const accounts = await openAccounts(store)
  const lags: number[] = []
  let deadline = performance.now() + 500
  const client = async (number: number): Promise<void> => {
    const accountId = accounts[number % accountCount] ?? ''
    while (performance.now() < deadline) {
      const request = { exchangeId: newId(), sequence: 0, accountId, keyId: 'key', amountMicros: 900_000 }
      const hold = await store.ledger.placeHold(request)
      if (!hold.isDurable) await hold.durable
      const began = performance.now()
      await store.ledger.charge(hold, charge)
      lags.push(performance.now() - began)
    }
  }
  const all = async (): Promise<void> => {
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  }
  // What the compiler has not seen yet, it sees now.
  await all()
  lags.length = 0
  const began = performance.now()
  deadline = began + seconds * 1000
  await all()
  const elapsedSeconds = (performance.now() - began) / 1000
  const chargesPerSecond = Math.round(lags.length / elapsedSeconds)
  lags.sort((left, right) => left - right)
  const lagAt = (share: number): number => lags[Math.floor(lags.length * share)] ?? 0
  return { store: name, clients, chargesPerSecond, lagP50Ms: lagAt(0.5), lagP99Ms: lagAt(0.99) }
}

/** A store that can be measured. */
interface Contender {
  readonly name: string
  /** Opens a new, empty one. */
  open(folder: string): Promise<Store>
  close?(): Promise<void>
}

async function openContenders(): Promise<Contender[]> {
  const contenders: Contender[] = [
    {
      name: 'sqlite',
      open: folder =>
        openSqliteStore({ file: join(folder, 'gateway.db'), durability: 'strict', clock: systemClock }),
    },
  ]
  try {
    const server = await startPostgresServer()
    let count = 0
    contenders.push({
      name: 'postgres',
      async open() {
        count += 1
        const url = await server.createDatabase(`bench_${count}`)
        return openPostgresStore({ url, durability: 'strict', clock: systemClock })
      },
      close: () => server.close(),
    })
  } catch (error) {
    writeSync(1, `postgres is skipped: its server does not start here: ${String(error)}\n`)
  }
  return contenders
}

async function measure(contender: Contender, clients: number, seconds: number): Promise<Measured> {
  const folder = mkdtempSync(join(option('folder', tmpdir()), 'bench-ledger-'))
  const store = await contender.open(folder)
  try {
    const measured = await run(contender.name, store, clients, seconds)
    const breaches = await store.reports.verify()
    if (breaches.length > 0) throw new Error(breaches.join('; '))
    return measured
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

function row(cells: readonly string[]): void {
  writeSync(
    1,
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(10) : cell.padStart(14))).join('')}\n`,
  )
}

const seconds = Number(option('seconds', '3'))
row(['store', 'clients', 'charges/s', 'lag p50 ms', 'lag p99 ms'])
for (const contender of await openContenders()) {
  for (const clients of [1, 16, 128, 512]) {
    const { store, chargesPerSecond, lagP50Ms, lagP99Ms } = await measure(contender, clients, seconds)
    row([store, String(clients), String(chargesPerSecond), lagP50Ms.toFixed(2), lagP99Ms.toFixed(2)])
  }
  await contender.close?.()
}
