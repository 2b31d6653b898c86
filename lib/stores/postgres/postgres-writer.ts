import { connectPostgres, endPostgres, isStoreFailure, postgresErrorCode } from './postgres-connection.ts'
import type { PostgresClient } from './postgres-connection.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import type { BatchReport } from '../shared/store-operation.ts'
import { errorWords } from '../../platform/log.ts'

interface AnswerRow extends PostgresAnswer {
  readonly index: number
}

type Answer = readonly [index: number, answer: PostgresAnswer]
type Refusal = readonly [index: number, code: string, message: string]

interface WriterOptions {
  readonly url: string
  readonly durability: 'strict' | 'relaxed'
}

/**
 * Operations that were collected while the database was away are sent in parts: each is one statement, and must end in
 * time.
 */
const operationsMax = 1000

/**
 * `relaxed` waits for the database's decision, but not for its disk. `strict` waits for both, even where the database
 * is set to wait for neither; a setting that waits for more is kept.
 */
const commits = {
  relaxed: 'SET synchronous_commit = off',
  strict: `SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'`,
}

/**
 * The function waits for locks and then reads the current rows; with one snapshot for all of it, it would fail instead.
 */
const isolation = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED'

const apply = { name: 'apply', text: 'SELECT * FROM apply_operations($1)' }

/** Runs batches, one at a time, on a dedicated connection that is reopened when it is lost. */
export class PostgresWriter {
  readonly #options: WriterOptions
  #client: PostgresClient | undefined

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Never throws: the report has the error. After an error the batch may or may not be written. */
  async run(operations: readonly PostgresOperation[]): Promise<BatchReport> {
    const answers: Answer[] = []
    const refusals: Refusal[] = []
    try {
      // Sends a query even without operations: that is how a lost database is found again.
      for (let from = 0; from === 0 || from < operations.length; from += operationsMax) {
        await this.#runSome(operations, from, answers, refusals)
      }
      return { answers, refusals }
    } catch (error) {
      // The next connection waits for what the old one still does: both lock the same accounts.
      void this.close()
      const message = errorWords(error)
      return { error: { code: postgresErrorCode(error), message }, answers: [], refusals: [] }
    }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    if (client !== undefined) await endPostgres(client)
  }

  async #runSome(
    operations: readonly PostgresOperation[],
    from: number,
    answers: Answer[],
    refusals: Refusal[],
  ): Promise<void> {
    const until = Math.min(from + operationsMax, operations.length)
    try {
      answers.push(...(await this.#apply(operations, from, until)))
      return
    } catch (error) {
      if (isStoreFailure(error)) throw error
    }
    // One of the operations is invalid. Runs them again one by one, to find it and keep the rest.
    for (let index = from; index < until; index += 1) {
      try {
        answers.push(...(await this.#apply(operations, index, index + 1)))
      } catch (error) {
        if (isStoreFailure(error)) throw error
        refusals.push([index, 'operation_failed', errorWords(error)])
      }
    }
  }

  async #apply(operations: readonly PostgresOperation[], from: number, until: number): Promise<Answer[]> {
    const client = this.#client ?? (await this.#connect())
    const batch = operations.slice(from, until).map((operation, index) => ({ i: from + index, ...operation }))
    const { rows } = await client.query<AnswerRow>({ ...apply, values: [JSON.stringify(batch)] })
    return rows.map(row => [row.index, row])
  }

  async #connect(): Promise<PostgresClient> {
    const { url, durability } = this.#options
    const client = await connectPostgres(url, (_, lost) => {
      if (this.#client === lost) this.#client = undefined
    })
    try {
      await client.query(commits[durability])
      await client.query(isolation)
    } catch (error) {
      // Otherwise each attempt would leave a connection open, until the database has no more.
      void client.end()
      throw error
    }
    this.#client = client
    return client
  }
}
