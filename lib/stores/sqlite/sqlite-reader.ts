import { parentPort, workerData } from 'node:worker_threads'
import { sqliteErrorCode } from './sqlite-database.ts'
import { SqliteQueries, type ReaderMessage, type ReaderRequest } from './sqlite-queries.ts'

// The reader's thread. It receives one query after another, or `undefined` to end.
const port = parentPort
if (port === null) throw new Error('the reader runs in a thread of its own')

const file: string = workerData
const queries = new SqliteQueries(file)

function answer({ id, sql, values }: ReaderRequest): ReaderMessage {
  try {
    return { id, rows: queries.read(sql, values) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { id, failure: { message, code: sqliteErrorCode(error) } }
  }
}

port.on('message', (request: ReaderRequest | undefined) => {
  if (request === undefined) {
    void queries.close()
    port.close()
  } else {
    port.postMessage(answer(request))
  }
})
