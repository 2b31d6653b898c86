import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { systemClock } from '../lib/platform/clock.ts'
import { newKeyRow } from '../lib/stores/shared/stored-keys.ts'
import { openForWriting } from '../lib/stores/sqlite/sqlite-database.ts'
import { openPostgresStore } from '../lib/stores/postgres/postgres.ts'
import { openSqliteStore } from '../lib/stores/sqlite/sqlite.ts'

/** A store with one account that has money and a key. */
interface NewStore {
  readonly accountId: string
  readonly key: string
  readonly creditMicros: number
}

interface NewStoreOptions {
  readonly file: string
  readonly postgresUrl?: string | undefined
  /** For SQLite only. */
  readonly moreKeys?: number | undefined
}

/** Creates it, with additional keys, and closes it. */
async function newStore({ file, postgresUrl, moreKeys = 0 }: NewStoreOptions): Promise<NewStore> {
  const options = { durability: 'strict', clock: systemClock } as const
  const store =
    postgresUrl === undefined
      ? await openSqliteStore({ ...options, file })
      : await openPostgresStore({ ...options, url: postgresUrl })
  const { id: accountId } = await store.accounts.createAccount({ email: 'bench@example.org' })
  const creditMicros = 1e12
  await store.accounts.credit({ accountId, amountMicros: creditMicros, reason: 'benchmark' })
  const { key } = await store.accounts.createKey({ accountId })
  await store.close()
  if (moreKeys > 0) addKeys(file, accountId, moreKeys)
  return { accountId, key, creditMicros }
}

/** In bulk: one commit for all, with rows as the store itself writes them. */
function addKeys(file: string, accountId: string, count: number): void {
  const database = openForWriting(file)
  try {
    // Digests are in random order; with the index in memory a million take seconds.
    database.pragma('cache_size = -400000')
    const insert = database.prepare(
      `INSERT INTO keys (id, account_id, digest, name, last_four, created_at)
       VALUES (:id, :account_id, :digest, :name, :last_four, :created_at)`,
    )
    const addAll = database.transaction(() => {
      const now = systemClock.now()
      for (let index = 0; index < count; index++) {
        const { row } = newKeyRow({ accountId, name: `key ${index}` }, now)
        const { id, account_id, digest, name, last_four, created_at } = row
        insert.run({ id, account_id, digest, name, last_four, created_at })
      }
    })
    addAll()
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

/** `gateway serve` in a process of its own, with an account that has money and a key. */
export interface GatewayProcess extends NewStore {
  readonly child: ChildProcess
  readonly url: string
  readonly storeFile: string
  /** The file with the standard output of the process. */
  readonly outputFile: string
  /** When the process was started, in milliseconds of `performance.now()`. */
  readonly beganMs: number
  /** Ends it as an operator would; returns the exit code. */
  stop(): Promise<number | null>
  remove(): void
}

interface GatewayProcessOptions {
  /** The whole config except the store, which is a new one. */
  readonly config: Readonly<Record<string, unknown>>
  /** The program to run; by default from its sources. */
  readonly program?: string
  /** Words before the command, such as `taskset -c 1`. */
  readonly prefix?: (command: readonly string[]) => readonly string[]
  /** For Node itself, such as `--trace-gc`. */
  readonly nodeOptions?: readonly string[]
  /** Variables of its environment beside the PATH. */
  readonly environment?: Readonly<Record<string, string>>
  /** Additional keys in the store. */
  readonly moreKeys?: number
  /** An empty database, instead of a new file. */
  readonly postgresUrl?: string | undefined
}

const fromSources = join(import.meta.dirname, '../bin/gateway.ts')

/** Starts it in a folder of its own. */
export async function startGatewayProcess(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-gateway-'))
  const file = join(folder, 'gateway.yaml')
  const storeFile = join(folder, 'g.db')
  const { nodeOptions = [], program = fromSources, moreKeys, postgresUrl } = options
  const setting = postgresUrl ?? `sqlite:${storeFile}`
  writeFileSync(file, stringify({ listen: { port: 0 }, store: setting, ...options.config }))
  const store = await newStore({ file: storeFile, postgresUrl, moreKeys })
  const command = [process.execPath, ...nodeOptions, program, 'serve', '--config', file]
  const [executable = '', ...argv] = options.prefix?.(command) ?? command
  const logFile = join(folder, 'log')
  const outputFile = join(folder, 'output')
  const [output, log] = [openSync(outputFile, 'w'), openSync(logFile, 'w')]
  const beganMs = performance.now()
  const child = spawn(executable, argv, {
    env: { PATH: process.env['PATH'] ?? '', ...options.environment },
    stdio: ['ignore', output, log],
  })
  closeSync(output)
  closeSync(log)
  const url = await listening(child, logFile)
  return {
    ...store,
    child,
    url,
    storeFile,
    outputFile,
    beganMs,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.exitCode
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

async function listening(child: ChildProcess, logFile: string): Promise<string> {
  for (;;) {
    const text = readFileSync(logFile, 'utf8')
    const found = /"url":"([^"]+)"/.exec(text)
    if (found?.[1] !== undefined) return found[1]
    if (child.exitCode !== null) throw new Error(`The gateway ended before it listened:\n${text}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
