import { parentPort, workerData } from 'node:worker_threads'
import { releaseMemory } from '../../platform/collect-garbage.ts'
import { SqliteBatch } from './sqlite-batch.ts'
import { prepareStore } from './sqlite-prepare.ts'
import { StoreError } from '../shared/store-queries.ts'
import type { StoreOperation, WriterMessage, WriterOptions } from '../shared/store-operation.ts'

// The writer's thread. It receives batches of operations, or `undefined` to end.
const port = parentPort
if (port === null) throw new Error('the writer runs in a thread of its own')

function send(message: WriterMessage): void {
  port?.postMessage(message)
}

function start(options: WriterOptions): void {
  const { database, snapshot } = prepareStore(options)
  const batch = new SqliteBatch(database)
  port?.on('message', (operations: readonly StoreOperation[] | undefined) => {
    if (operations === undefined) {
      database.close()
      port.close()
    } else {
      send({ kind: 'report', report: batch.run(operations) })
    }
  })
  send({ kind: 'ready', snapshot })
  // Releases the memory that opening the store used, while the rest of the gateway starts; a new store used none.
  if (!snapshot.isNew) releaseMemory()
}

try {
  const options: WriterOptions = workerData
  start(options)
} catch (error) {
  if (!(error instanceof StoreError)) throw error
  send({ kind: 'refused', message: error.message })
  port.close()
}
