import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { plainNode } from '../fixtures/process-environment.ts'
import { unreachedPlaces } from './unreached-places.ts'

const sources = 'lib/*.ts'
const lib = {
  'sum.ts': `interface Sum { readonly of: 'один' | 'два' }
export function half(sum: number): number {
  if (sum < 0) return 0
  return sum / 2
}
export function never(sum: Sum): string {
  return sum.of
}
`,
  'alone.ts': 'export const alone = 1\n',
  'types.ts': 'export interface Types { readonly of: string }\n',
}

/** A project whose tests are these files, and the folder for the coverage of running them. */
function project(t: Test, tests: Readonly<Record<string, string>>): { root: string; folder: string } {
  const root = t.testdir({ lib, test: tests, 'package.json': '{ "type": "module" }' })
  const folder = join(root, 'counts')
  mkdirSync(folder)
  for (const name of Object.keys(tests)) run(folder, join(root, 'test', name))
  return { root, folder }
}

function run(folder: string, file: string): void {
  const env = { NODE_V8_COVERAGE: folder, PATH: process.env['PATH'] ?? '' }
  spawnSync('env', [...plainNode, file], { env })
}

const negative = "import { half } from '../lib/sum.ts'\nhalf(-1)\n"
const positive = "import { half } from '../lib/sum.ts'\nhalf(2)\n"

await t.test('a place is listed if no process has reached it', t => {
  const { root, folder } = project(t, { 'negative.ts': negative, 'positive.ts': positive })

  const { places } = unreachedPlaces({ root, folder, sources, tests: [] })

  t.same(places, [
    { path: 'lib/alone.ts', text: 'was never loaded' },
    { path: 'lib/sum.ts', lines: [6, 7], text: 'export function never(sum: Sum): string {' },
  ])
  t.end()
})

await t.test('counts of one process are added to those of another', t => {
  const { root, folder } = project(t, {
    'negative.ts': negative,
    'loaded.ts': "import '../lib/sum.ts'\n",
    'thread.ts': `import { Worker } from 'node:worker_threads'
new Worker(new URL('positive.js', import.meta.url))
`,
    'positive.js': positive,
  })

  const { places } = unreachedPlaces({ root, folder, sources: 'lib/sum.ts', tests: [] })

  t.same(
    places.map(({ lines }) => lines),
    [[6, 7]],
  )
  t.end()
})

await t.test('a test file without counts is named', t => {
  const killed = `import { execSync } from 'node:child_process'\n${negative}execSync('kill -9 ' + process.pid)\n`
  const { root, folder } = project(t, { 'killed.ts': killed, 'positive.ts': positive })

  const tests = ['test/killed.ts', 'test/positive.ts']
  const { places, unreported } = unreachedPlaces({ root, folder, sources: 'lib/sum.ts', tests })

  t.same(unreported, ['test/killed.ts'])
  t.same(
    places.map(({ lines }) => lines),
    [
      [3, 3],
      [6, 7],
    ],
  )
  t.end()
})

await t.test('a source that has changed since the run is refused, as its counts belong to other lines', t => {
  const { root, folder } = project(t, { 'positive.ts': positive })

  writeFileSync(join(root, 'lib/sum.ts'), `// First.\n${lib['sum.ts']}`)

  t.throws(() => unreachedPlaces({ root, folder, sources, tests: [] }), {
    message: 'lib/sum.ts has another text than the one that ran. Run the tests again.',
  })
  t.end()
})
