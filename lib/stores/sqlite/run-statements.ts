import type { SqlStatement } from '../shared/user-tables.ts'
import { dropped, written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

/** Has the writer run statements as one operation; answers the rows of the last one when they are on the disk. */
export async function runStatements<Row extends object>(
  queue: WriteQueue,
  statements: readonly SqlStatement[],
): Promise<readonly Row[]> {
  return (await written(queue.add({ kind: 'statements', statements }, dropped))) as readonly Row[]
}
