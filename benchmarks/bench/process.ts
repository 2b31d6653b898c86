import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** A process that the benchmark started, and its cost so far. */
export interface Measured {
  readonly child: ChildProcess
  /** User and system time of all its threads and of the processes it has started, in microseconds. */
  readonly cpuMicros: () => number
  readonly rssBytes: () => number
  readonly stop: () => Promise<void>
}

/** The two cores for pinning: one for load and upstream, one for the measured process. */
export const cores = { around: 0, measured: 1 } as const

/** All cores but the first, for targets with several processes. */
export const otherCores = availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1'

/** Whether `taskset` exists and may use both; otherwise nothing is pinned, and the report says so. */
export const canPin = Object.values(cores).every(
  core => spawnSync('taskset', ['-c', String(core), 'true'], { stdio: 'ignore' }).status === 0,
)

/** A command with its pinning; all threads of the measured process share the one core. */
export function pinned(core: number | string | undefined, command: readonly string[]): readonly string[] {
  return core === undefined || !canPin ? command : ['taskset', '-c', String(core), ...command]
}

const ticksPerSecond = 100

/** The processes that a process has started. */
export function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/** User and system time of all threads of a process, in microseconds. */
export function cpuMicrosOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond
}

function rssBytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

export function measure(child: ChildProcess): Measured {
  const all = (): readonly number[] => (child.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)])
  const sum = (read: (pid: number) => number): number => all().reduce((total, pid) => total + read(pid), 0)
  return {
    child,
    cpuMicros: () => sum(cpuMicrosOf),
    rssBytes: () => sum(rssBytesOf),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Starts a Node program of this folder that sends its port over IPC. */
export async function startNode(
  program: string,
  argv: readonly string[],
  core: number | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<Measured & { readonly port: number }> {
  const [command = '', ...rest] = pinned(core, [process.execPath, program, ...argv])
  const child = spawn(command, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { PATH: process.env['PATH'] ?? '', ...environment },
  })
  const [message] = (await once(child, 'message')) as [{ port: number }]
  return { ...measure(child), port: message.port }
}
