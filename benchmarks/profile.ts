import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLoader } from './bench/loader.ts'
import { cores, startNode } from './bench/process.ts'
import { requestTo } from './bench/requests.ts'
import { gateway } from './bench/targets.ts'
import { readProfile } from './profile/read-profile.ts'

// Where a request's time goes in the gateway's main thread, by owner of the code, and which functions of ours take
// most. It exits with 1 when one takes more than a twentieth. `--relaxed`, `--seconds 20`.

const percentMax = 5
const ownersShown = 24
const functionsShown = 12
/** The warm-up, in which functions are compiled. */
const warmUpShare = 0.4

const secondsIndex = process.argv.indexOf('--seconds')
const seconds = secondsIndex === -1 ? 20 : Number(process.argv[secondsIndex + 1])
const durability = process.argv.includes('--relaxed') ? 'relaxed' : 'strict'
const say = (line: string): void => void writeSync(1, `${line}\n`)

const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' })
if (built.status !== 0) throw new Error('The build failed.')

const folder = mkdtempSync(join(tmpdir(), 'bench-profile-'))
const nodeOptions = ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${folder}`]
const upstream = await startNode(join(import.meta.dirname, 'bench/fast-upstream.ts'), [], cores.around)
try {
  const loader = await startLoader(cores.around)
  const target = await gateway('gateway', upstream.port, { durability, nodeOptions })()
  const { port } = target
  const request = requestTo(target)
  const { ms } = await loader.run({ kind: 'closed', port, request, connections: 32, seconds })
  await loader.stop()
  await target.stop()
  say(`${durability}, ${Math.round(ms.length / seconds)} requests/s`)
  // The main thread's is the longest: every thread writes one.
  const files = readdirSync(folder).map(name => join(folder, name))
  const [file = ''] = files.toSorted((a, b) => statSync(b).size - statSync(a).size)
  const { owners, own } = readProfile(file, warmUpShare)
  const line = ([name, percent]: readonly [string, number]): string =>
    `${percent.toFixed(1).padStart(6)} %  ${name}`
  for (const owner of owners.slice(0, ownersShown)) say(line(owner))
  say('functions of the gateway:')
  for (const name of own.slice(0, functionsShown)) say(line(name))
  if ((own[0]?.[1] ?? 0) > percentMax) process.exitCode = 1
} finally {
  await upstream.stop()
  rmSync(folder, { recursive: true })
}
