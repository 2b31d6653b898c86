import { connectPostgres, isStoreFailure, postgresErrorCode } from './postgres-connection.ts'
import type { PostgresClient } from './postgres-connection.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import type { BatchReport } from './store-operation.ts'

interface AnswerRow extends PostgresAnswer {
  readonly index: number
}

interface WriterOptions {
  readonly url: string
  readonly durability: 'strict' | 'relaxed'
}

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
    try {
      return { answers: await this.#apply(operations), refusals: [] }
    } catch (error) {
      if (isStoreFailure(error)) return this.#failed(error)
    }
    // Something in the batch cannot stand. Once more, one by one, to find it and keep the rest.
    const answers: [number, unknown][] = []
    const refusals: [number, string, string][] = []
    for (const [index, operation] of operations.entries()) {
      try {
        for (const [, answer] of await this.#apply([operation])) answers.push([index, answer])
      } catch (error) {
        if (isStoreFailure(error)) return this.#failed(error)
        refusals.push([index, 'operation_failed', error instanceof Error ? error.message : String(error)])
      }
    }
    return { answers, refusals }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.end()
  }

  async #apply(operations: readonly PostgresOperation[]): Promise<[number, PostgresAnswer][]> {
    const client = this.#client ?? (await this.#connect())
    const { rows } = await client.query<AnswerRow>({ ...apply, values: [batchText(operations)] })
    return rows.map(row => [row.index, row])
  }

  async #connect(): Promise<PostgresClient> {
    const { url, durability } = this.#options
    const client = await connectPostgres(url, () => {
      if (this.#client === client) this.#client = undefined
    })
    // `relaxed` waits for the database's decision, and not for its disk.
    if (durability === 'relaxed') await client.query('SET synchronous_commit = off')
    this.#client = client
    return client
  }

  #failed(error: unknown): BatchReport {
    // What the old connection still does, the next one waits for: both lock the same accounts.
    void this.close()
    const message = error instanceof Error ? error.message : String(error)
    return { error: { code: postgresErrorCode(error), message }, answers: [], refusals: [] }
  }
}

function batchText(operations: readonly PostgresOperation[]): string {
  return JSON.stringify(operations.map((operation, i) => ({ i, ...operation })))
}
