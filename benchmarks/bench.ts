import { spawnSync } from 'node:child_process'
import { mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { startLoader } from './bench/loader.ts'
import { canPin, cores, measure, startNode } from './bench/process.ts'
import { writeReport } from './bench/report.ts'
import { runAll } from './bench/run-all.ts'
import type { Effort } from './bench/scenarios.ts'

// The gateway beside nginx, a bare relay, http-proxy-3 and Portkey, in turns within one run.
//   --quick          two minutes instead of twenty
//   --out FOLDER     the folder of report.md, its plots and results.json; by default benchmarks/results

const quick: Effort = {
  rounds: 1,
  seconds: 1,
  warmUpSeconds: 0.5,
  turns: 80,
  streams: 128,
  openStreams: 200,
  openStreamsSeconds: 1,
  idleConnections: 1000,
  keys: 20_000,
}
const full: Effort = {
  rounds: 5,
  seconds: 8,
  // Until the compiler has nothing more to do: real gateways run for weeks.
  warmUpSeconds: 20,
  turns: 10_000,
  streams: 512,
  openStreams: 1000,
  openStreamsSeconds: 6,
  idleConnections: 10_000,
  keys: 1_000_000,
}

const isQuick = process.argv.includes('--quick')
const outIndex = process.argv.indexOf('--out')
const out = outIndex === -1 ? join(import.meta.dirname, 'results') : String(process.argv[outIndex + 1])

const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')

const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], cores.around)
const loader = await startLoader(cores.around)
try {
  const results = await runAll({
    loader,
    upstreamPort: upstream.port,
    upstream: { ...measure(upstream.child), name: 'direct', port: upstream.port, headers: [], beganMs: 0 },
    effort: isQuick ? quick : full,
    say: line => writeSync(1, `${line}\n`),
  })
  mkdirSync(out, { recursive: true })
  writeSync(1, `\n${writeReport(results, { folder: out, isPinned: canPin, isQuick })}\n\nWritten to ${out}\n`)
} finally {
  await loader.stop()
  await upstream.stop()
}
