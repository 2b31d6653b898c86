import { writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/platform/clock.ts'
import { openPostgresStore } from '../lib/stores/postgres/postgres.ts'
import { openSqliteStore } from '../lib/stores/sqlite/sqlite.ts'
import type { Store } from '../lib/stores/store.ts'
import { chargeRate } from './ledger/charge-rate.ts'
import { startPostgresServer } from './postgres-server.ts'

// Durable charges a second, and how long a charge takes until it is on disk. `--seconds 5` measures longer,
// `--folder /data` measures the disk of this folder.

function option(name: string, otherwise: string): string {
  const index = process.argv.indexOf(`--${name}`)
  return process.argv[index + 1] !== undefined && index !== -1 ? String(process.argv[index + 1]) : otherwise
}

/** A store to measure. */
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
    const { chargesPerSecond, lagP50Ms, lagP99Ms } = await chargeRate({
      open: folder => contender.open(folder),
      place: option('folder', tmpdir()),
      clients,
      seconds,
    })
    row([contender.name, String(clients), String(chargesPerSecond), lagP50Ms.toFixed(2), lagP99Ms.toFixed(2)])
  }
  await contender.close?.()
}
