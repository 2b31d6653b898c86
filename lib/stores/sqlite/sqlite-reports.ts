import { extname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StoreError, type QueryValue, type StoreQueries } from '../shared/store-queries.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Reports } from '../../ledger/reports.ts'
import { noRisk, type RiskRule } from '../../ledger/risk.ts'
import { SqliteQueries } from './sqlite-queries.ts'
import { storeReports } from '../shared/store-reports.ts'

/** A query for the reader's thread. */
export interface ReaderRequest {
  readonly id: number
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** What the reader's thread answers. */
export type ReaderMessage =
  | { readonly id: number; readonly rows: readonly object[] }
  | {
      readonly id: number
      readonly failure: { readonly message: string; readonly code: string | undefined }
    }

interface Waiting {
  readonly resolve: (rows: readonly object[]) => void
  readonly reject: (error: Error) => void
}

// Compiled, the reader is a .js file as this one is.
const readerUrl = new URL(`./sqlite-reader${extname(import.meta.url)}`, import.meta.url)

/**
 * Reads one file on a thread of its own, so that no query keeps the event loop, however long it takes. The thread is
 * started by the first query, and again by the next one after it has died.
 */
export class SqliteReaderQueries implements StoreQueries {
  readonly #file: string
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #exited: Promise<void> = Promise.resolve()
  #lastId = 0
  #isClosed = false

  constructor(file: string) {
    this.#file = file
  }

  all<Row extends object>(sql: string, values: readonly QueryValue[] = []): Promise<readonly Row[]> {
    if (this.#isClosed) return Promise.reject(new StoreError('the store is closed'))
    const worker = (this.#worker ??= this.#start())
    const id = (this.#lastId += 1)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: rows => resolve(rows as readonly Row[]), reject })
      // A process that waits for nothing else waits for this.
      worker.ref()
      const request: ReaderRequest = { id, sql, values }
      worker.postMessage(request)
    })
  }

  withoutHurry<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T> {
    return read(this)
  }

  /** Waits for what was asked. */
  async close(): Promise<void> {
    this.#isClosed = true
    // An idle thread keeps no process alive, and this waits for its end: with nothing else open, Node would exit with 13.
    this.#worker?.ref()
    this.#worker?.postMessage(undefined)
    await this.#exited
  }

  #start(): Worker {
    const worker = new Worker(readerUrl, { workerData: this.#file, execArgv: [] })
    let cause: unknown
    worker.on('message', (message: ReaderMessage) => this.#onMessage(message, worker))
    worker.on('error', error => (cause = error))
    this.#exited = new Promise(resolve => {
      worker.once('exit', () => {
        this.#worker = undefined
        const reason = cause instanceof Error ? cause.message : 'the thread has ended'
        this.#rejectAll(new StoreError(`the store cannot be read: ${reason}`, { cause }))
        resolve()
      })
    })
    return worker
  }

  #onMessage(message: ReaderMessage, worker: Worker): void {
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (this.#waiting.size === 0) worker.unref()
    if ('rows' in message) waiting?.resolve(message.rows)
    else {
      const { message: text, code } = message.failure
      waiting?.reject(
        new StoreError(`the store cannot be read: ${text}${code === undefined ? '' : ` (${code})`}`),
      )
    }
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(error)
  }
}

/** What a file can have wrong below its rows. */
async function verifyFile(queries: StoreQueries): Promise<readonly string[]> {
  const findings = await queries.all<{ readonly integrity_check: string }>('PRAGMA integrity_check')
  const breaches = findings
    .filter(finding => finding.integrity_check !== 'ok')
    .map(finding => `the file is damaged: ${finding.integrity_check}`)
  const orphans = await queries.all('PRAGMA foreign_key_check')
  return orphans.length === 0
    ? breaches
    : [...breaches, `${orphans.length} rows refer to rows that do not exist`]
}

/** Reads a SQLite store by queries on whichever thread; closing it closes them. */
export function sqliteReports(queries: StoreQueries, clock: Clock, riskRule: () => RiskRule): Reports {
  return storeReports(queries, { clock, riskRule, verifyMore: verifyFile })
}

/**
 * Opens a SQLite store for reading on the calling thread, beside a running server or without one.
 * @throws StoreError when it is missing, damaged or of a newer program
 */
export function openSqliteReports(file: string, clock: Clock, riskRule = () => noRisk): Reports {
  return sqliteReports(new SqliteQueries(resolve(file)), clock, riskRule)
}
