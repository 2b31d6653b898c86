import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { startLoader, type Loader } from './bench/loader.ts'
import { canPin, childrenOf, cores, cpuMicrosOf, otherCores, startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { median } from './bench/scenarios.ts'
import { gateway, relay, startAll, type Contender, type Target } from './bench/targets.ts'
import { startPostgresServer } from './postgres-server.ts'

// The cost of a strict request where several workers serve requests, on either store, all processes of the gateway
// together and beside the bare relay, in turns. Load and upstream have the first core, the measured target the others.
// `--workers 1,2,4`, `--rounds 5`, `--seconds 4`. The CPU of the PostgreSQL server is not included.

function option(name: string, otherwise: string): string {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : String(process.argv[index + 1])
}

const counts = option('workers', '1,2,3,4').split(',').map(Number)
const rounds = Number(option('rounds', '5'))
const seconds = Number(option('seconds', '4'))
/** Until the compiler has little to do, in each of four workers. */
const warmUpSeconds = 20
const connections = 32

const say = (line: string): void => void writeSync(1, `${line}\n`)

interface Cost {
  readonly requestsPerSecond: number
  /** Per request, of all processes. */
  readonly cpuMicros: number
  /** Per request, of the process that has the ledger, or of the only one. */
  readonly firstMicros: number
  readonly errors: number
}

async function measureOnce(loader: Loader, target: Target, seconds: number): Promise<Cost> {
  const pid = target.child.pid ?? 0
  const pids = [pid, ...childrenOf(pid)]
  const before = pids.map(cpuMicrosOf)
  const request = requestTo(target)
  const { ms, errors, ...ran } = await loader.run({
    kind: 'closed',
    port: target.port,
    request,
    connections,
    seconds,
  })
  const spent = pids.map((each, index) => cpuMicrosOf(each) - (before[index] ?? 0))
  return {
    requestsPerSecond: ms.length / ran.seconds,
    cpuMicros: spent.reduce((sum, micros) => sum + micros, 0) / ms.length,
    firstMicros: (spent[0] ?? 0) / ms.length,
    errors,
  }
}

function print(targets: readonly Target[], costs: ReadonlyMap<Target, readonly Cost[]>): void {
  const bare = costs.get(targets[0] as Target) ?? []
  for (const target of targets) {
    const own = costs.get(target) ?? []
    const of = (read: (cost: Cost, round: number) => number): string => median(own.map(read)).toFixed(2)
    const ratio = of((cost, round) => cost.cpuMicros / (bare[round]?.cpuMicros ?? NaN))
    const errors = own.reduce((sum, cost) => sum + cost.errors, 0)
    say(
      `${target.name.padEnd(22)}${Number(of(cost => cost.cpuMicros))
        .toFixed(0)
        .padStart(5)} µs a request, ` +
        `${Number(of(cost => cost.firstMicros)).toFixed(0)} of them in the first process, ${ratio} x bare relay, ` +
        `${Number(of(cost => cost.requestsPerSecond)).toFixed(0)} requests/s${errors > 0 ? `, ${errors} FAILED` : ''}`,
    )
  }
}

const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')
say(canPin ? `measured on core ${otherCores}` : 'not pinned: there is no taskset here, or not both cores')

const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], cores.around)
const loader = await startLoader(cores.around)
const postgres = await startPostgresServer()
let targets: readonly Target[] = []
try {
  const contenders: Contender[] = [relay('bare relay', 'bare-relay.ts', upstream.port)]
  for (const workers of counts) {
    const options = { core: otherCores, workers }
    const postgresUrl = await postgres.createDatabase(`workers_${workers}`)
    contenders.push(
      gateway(`sqlite, ${workers}`, upstream.port, options),
      gateway(`postgres, ${workers}`, upstream.port, { ...options, postgresUrl }),
    )
  }
  targets = await startAll(say, contenders)
  const costs = new Map<Target, Cost[]>(targets.map(target => [target, []]))
  for (let round = -1; round < rounds; round++) {
    for (const target of targets) {
      const cost = await measureOnce(loader, target, round === -1 ? warmUpSeconds : seconds)
      if (round >= 0) costs.get(target)?.push(cost)
    }
  }
  print(targets, costs)
} finally {
  for (const target of targets) await target.stop()
  await postgres.close()
  await loader.stop()
  await upstream.stop()
}
