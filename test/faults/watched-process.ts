import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { serveProcess, type ServedProcess, type ServeOptions } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

/** Above its memory after the start: compiled code, caches, what the store keeps. */
const memoryGrowthBytesMax = 64 * 1_048_576
/** Connections on which this process requests metrics, which the gateway keeps for some seconds. */
const ownSocketsMax = 2
const settleMs = 5_000

/** A gateway in a process of its own, which must be left as it was found. */
export interface WatchedProcess {
  readonly served: ServedProcess
  /** What a case has left behind in it; empty for nothing. */
  traces(): Promise<string[]>
}

export async function watchProcess(t: Test, options: ServeOptions): Promise<WatchedProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'fault-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const memoryFile = join(folder, 'memory')
  const served = await serveProcess(t, {
    ...options,
    imports: [...(options.imports ?? []), new URL('report-memory.ts', import.meta.url).href],
    env: { MEMORY_FILE: memoryFile },
  })
  const isRunning = (): boolean => served.child.exitCode === null && served.child.signalCode === null
  const memoryBytes = async (): Promise<number> => {
    rmSync(memoryFile, { force: true })
    served.child.kill('SIGWINCH')
    await until(() => !isRunning() || (existsSync(memoryFile) && readFileSync(memoryFile).length > 0))
    return isRunning() ? Number(readFileSync(memoryFile)) : 0
  }
  const pid = options.prefix === undefined ? served.child.pid : undefined
  const socketCount = openSocketsOf(served.child.pid)
  const memoryBefore = pid === undefined ? 0 : await memoryBytes()
  return {
    served,
    async traces() {
      const traces: string[] = []
      const check = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
        await until(holds, settleMs).catch(() => traces.push(`its process: ${what}`))
      }
      if (isRunning()) {
        await check('a socket leaks', () => openSocketsOf(served.child.pid) <= socketCount + ownSocketsMax)
        if (pid !== undefined)
          await check(
            'memory grows',
            async () => (await memoryBytes()) <= memoryBefore + memoryGrowthBytesMax,
          )
        await check('a hold is left', async () => (await served.heldMicros()) === 0)
      }
      traces.push(...(await served.breaches()))
      return traces
    },
  }
}

function openSocketsOf(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).filter(name => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).startsWith('socket:')
    } catch (error) {
      // It was closed in the meantime.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
      throw error
    }
  }).length
}
