import type { Loader } from './loader.ts'
import { childrenOf, cpuMicrosOf } from './process.ts'
import { requestTo } from './requests.ts'
import { median, type Effort } from './scenarios.ts'
import { gateway, type Target } from './targets.ts'

/** What workers bring where nothing is pinned: load, upstream and gateway share all cores. */
export interface Scaling {
  readonly requestsPerSecond: number
  /** Of all its processes together. */
  readonly cpuMicros: number
  /** Cores that they used together. */
  readonly coresUsed: number
  /** What each of its processes had of that time: the first one, then the workers. */
  readonly shares: readonly number[]
  readonly errors: number
}

const connections = 32

/** One worker and two by turns, in the same minutes. */
export async function measureScaling(
  loader: Loader,
  upstreamPort: number,
  effort: Effort,
): Promise<Record<string, Scaling>> {
  const targets: Target[] = []
  try {
    for (const workers of [1, 2]) {
      const name = `gateway, ${workers} worker${workers === 1 ? '' : 's'}`
      const started = await gateway(name, upstreamPort, { core: undefined, workers })()
      if (typeof started !== 'string') targets.push(started)
    }
    const rounds = new Map<string, Scaling[]>(targets.map(({ name }) => [name, []]))
    for (let round = -1; round < effort.rounds; round++) {
      for (const target of targets) {
        // The first round is for the compiler.
        const seconds = round === -1 ? effort.warmUpSeconds : effort.seconds
        const measured = await measureOnce(loader, target, seconds)
        if (round >= 0) rounds.get(target.name)?.push(measured)
      }
    }
    return Object.fromEntries([...rounds].map(([name, list]) => [name, middle(list)]))
  } finally {
    for (const target of targets) await target.stop()
  }
}

async function measureOnce(loader: Loader, target: Target, seconds: number): Promise<Scaling> {
  const pid = target.child.pid ?? 0
  const pids = [pid, ...childrenOf(pid)]
  const before = pids.map(cpuMicrosOf)
  const request = requestTo(target)
  const result = await loader.run({ kind: 'closed', port: target.port, request, connections, seconds })
  const spent = pids.map((each, index) => cpuMicrosOf(each) - (before[index] ?? 0))
  const total = spent.reduce((sum, micros) => sum + micros, 0)
  return {
    requestsPerSecond: result.ms.length / result.seconds,
    cpuMicros: total / result.ms.length,
    coresUsed: total / 1e6 / result.seconds,
    shares: spent.map(micros => micros / total),
    errors: result.errors,
  }
}

function middle(list: readonly Scaling[]): Scaling {
  const of = (read: (each: Scaling) => number): number => median(list.map(read))
  return {
    requestsPerSecond: of(each => each.requestsPerSecond),
    cpuMicros: of(each => each.cpuMicros),
    coresUsed: of(each => each.coresUsed),
    shares: (list[0]?.shares ?? []).map((_, index) => of(each => each.shares[index] ?? 0)),
    errors: list.reduce((sum, each) => sum + each.errors, 0),
  }
}
