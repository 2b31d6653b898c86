import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadJob, LoadResult } from './load-job.ts'
import { startNode } from './process.ts'

/** The load process, for its parent. */
export interface Loader {
  run(job: LoadJob): Promise<LoadResult>
  runTurns(job: LoadJob & { kind: 'turns' }): Promise<readonly LoadResult[]>
  stop(): Promise<void>
}

/** Starts it on this core. One job runs at a time. */
export async function startLoader(core: number | undefined): Promise<Loader> {
  const started = await startNode(join(import.meta.dirname, 'load.ts'), [], core)
  const { child } = started
  const ask = async (job: LoadJob): Promise<unknown> => {
    const answered = once(child, 'message')
    child.send(job)
    const [message] = (await answered) as [{ result?: unknown; error?: string }]
    if (message.error !== undefined) throw new Error(`The load failed: ${message.error}`)
    return message.result
  }
  return {
    run: job => ask(job) as Promise<LoadResult>,
    runTurns: job => ask(job) as Promise<readonly LoadResult[]>,
    stop: () => started.stop(),
  }
}
