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

/** What gathered while the database was away goes in pieces: each is one statement, and must end in time. */
const operationsMax = 1000

/**
 * `relaxed` waits for the database's decision, and not for its disk. `strict` waits for both, also where the
 * database is set to wait for none; a setting that waits for more stays.
 */
const commits = {
  relaxed: 'SET synchronous_commit = off',
  strict: `SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'`,
}

/** The function waits for locks and then reads what is there now; one snapshot for all of it would fail instead. */
const isolation = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED'

const apply = { name: 'apply', text: 'SELECT * FROM apply_operations($1)' }

/** Runs batches, one at a time, on a connection of its own that is made anew when it is lost. */
export class PostgresWriter {
  readonly #options: WriterOptions
  #client: PostgresClient | undefined

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Never throws: what went wrong is in the report. After an error the batch may be written or not. */
  async run(operations: readonly PostgresOperation[]): Promise<BatchReport> {
    const answers: Answer[] = []
    const refusals: Refusal[] = []
    try {
      // Without operations it asks the database too: that is how a lost one is found again.
      for (let from = 0; from === 0 || from < operations.length; from += operationsMax) {
        await this.#runSome(operations, from, answers, refusals)
      }
      return { answers, refusals }
    } catch (error) {
      // What the old connection still does, the next one waits for: both lock the same accounts.
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
    // Something among them cannot stand. Once more, one by one, to find it and keep the rest.
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
      // One for each attempt would be left, until the database has no more.
      void client.end()
      throw error
    }
    this.#client = client
    return client
  }
}
