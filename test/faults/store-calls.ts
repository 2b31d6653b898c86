import { Worker } from 'node:worker_threads'
import { openForReading } from '../../lib/stores/sqlite/sqlite-database.ts'

/** Everything that can be asked of a prepared statement. */
const asking = ['run', 'get', 'all', 'iterate'] as const

/**
 * Counts what this process asks of SQLite databases, and what it sends to its threads, one of which writes the
 * store, until `stop` is called.
 */
export function countStoreCalls(storeFile: string): {
  readonly count: () => number
  readonly stop: () => void
} {
  const database = openForReading(storeFile)
  const statement = Object.getPrototypeOf(database.prepare('SELECT 1')) as Record<string, unknown>
  database.close()
  const undo: (() => void)[] = []
  let count = 0
  const watch = (owner: Record<string, unknown>, name: string): void => {
    const original = owner[name] as (this: unknown, ...args: unknown[]) => unknown
    owner[name] = function counted(this: unknown, ...args: unknown[]): unknown {
      count += 1
      return original.apply(this, args)
    }
    undo.push(() => (owner[name] = original))
  }
  for (const name of asking) watch(statement, name)
  watch(Worker.prototype as unknown as Record<string, unknown>, 'postMessage')
  return { count: () => count, stop: () => undo.splice(0).forEach(step => step()) }
}
