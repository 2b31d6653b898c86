import { accessSync } from 'node:fs'
import { extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { openForReading, sqliteErrorCode } from './sqlite-database.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
import { openFailure, stepsOf, sqliteSchema } from './sqlite-prepare.ts'
import { cannotOpen, StoreError, type QueryValue, type StoreQueries } from '../shared/store-queries.ts'
import type { KeyRecord } from '../../accounts/accounts.ts'
import { keyRecord } from '../shared/stored-keys.ts'
import type { KeyRow } from '../shared/ledger-columns.ts'

/** Long enough for a commit of the writer, which restarts its log. */
const restMs = 20
/** Reading for less than this does not keep the log from being restarted. */
const shortMs = 10

/**
 * Opens a file that must be a store of this release; with `isOlderToo` also of an older one, to copy it unchanged.
 * @throws StoreError when it is missing, damaged or of another release
 */
export function openSqliteFile(file: string, { isOlderToo = false } = {}): SqliteDatabase {
  try {
    accessSync(file)
  } catch (error) {
    // A folder that may not be read hides a store that exists.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw cannotOpen(file, error)
    throw new StoreError(
      `there is no store at ${file} yet: "gateway serve" makes it, as does "account create"`,
    )
  }
  let database: SqliteDatabase | undefined
  try {
    database = openForReading(file)
    const [step] = stepsOf(database, file)
    if (step !== undefined && (!isOlderToo || step === sqliteSchema.baseline)) {
      throw new StoreError(
        `${file} is of an older release: back it up, then start the gateway once, which brings it up to date`,
      )
    }
    return database
  } catch (error) {
    database?.close()
    throw sqliteErrorCode(error) === undefined ? error : openFailure(error, file)
  }
}

/** Reads one file on the calling thread: the one of the command line, or a gateway's reader thread. */
export class SqliteQueries implements StoreQueries {
  readonly kind = 'sqlite'
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()

  /** @throws StoreError when the file is missing, damaged or of another release */
  constructor(file: string) {
    this.#database = openSqliteFile(file)
  }

  read(sql: string, values: readonly QueryValue[] = []): readonly object[] {
    let statement = this.#statements.get(sql)
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)))
    return statement.all(...values) as object[]
  }

  async all<Row extends object>(sql: string, values?: readonly QueryValue[]): Promise<readonly Row[]> {
    return this.read(sql, values) as readonly Row[]
  }

  /** While a query reads, the writer cannot restart its log: a pause between two queries lets it. */
  withoutHurry<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T> {
    let readMs = 0
    return read({
      kind: this.kind,
      all: async <Row extends object>(sql: string, values?: readonly QueryValue[]) => {
        if (readMs > shortMs) {
          await delay(restMs)
          readMs = 0
        }
        const begunMs = performance.now()
        const rows = await this.all<Row>(sql, values)
        readMs += performance.now() - begunMs
        return rows
      },
      withoutHurry: again => again(this),
      close: () => Promise.resolve(),
    })
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}

/** A query for the reader's thread. */
export interface ReaderRequest {
  readonly id: number
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** Messages of the reader's thread. */
export type ReaderMessage =
  | { readonly id: number; readonly rows: readonly object[] }
  | {
      readonly id: number
      readonly failure: { readonly message: string; readonly code: string | undefined }
    }

// Compiled, the reader is a .js file like this one.
const readerUrl = new URL(`./sqlite-reader${extname(import.meta.url)}`, import.meta.url)

/**
 * Reads one file on a thread of its own, so that no query blocks the event loop, however long it takes. The first query
 * starts the thread, as does the next one after it has died.
 */
export class SqliteReaderQueries implements StoreQueries {
  readonly kind = 'sqlite'
  readonly #file: string
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly object[]>>()
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
    const waiting = Promise.withResolvers<readonly object[]>()
    this.#waiting.set(id, waiting)
    // A process that waits for nothing else waits for this query.
    worker.ref()
    const request: ReaderRequest = { id, sql, values }
    worker.postMessage(request)
    return waiting.promise as Promise<readonly Row[]>
  }

  withoutHurry<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T> {
    return read(this)
  }

  /** Waits for pending queries. */
  async close(): Promise<void> {
    this.#isClosed = true
    // An idle thread keeps no process alive, and this waits for its end: with nothing else open, Node would exit with
    // 13.
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

/**
 * All keys of a store, by their digest, read beside its writer.
 * @throws StoreError when it cannot be read
 */
export function* readSqliteKeys(file: string): Generator<readonly [digest: string, key: KeyRecord]> {
  const database = openSqliteFile(file)
  try {
    for (const row of database.prepare<[], KeyRow>('SELECT * FROM keys').iterate())
      yield [row.digest, keyRecord(row)]
  } finally {
    database.close()
  }
}
