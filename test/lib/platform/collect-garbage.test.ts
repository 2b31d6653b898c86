import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { plainNode, processEnvironment } from '../../fixtures/process-environment.ts'

const program = join(import.meta.dirname, '../../fixtures/release-memory.ts')
/** By default V8 begins to reduce a heap after eight or thirty seconds. */
const soon = ['--memory-reducer-delay-ms=100', '--gc-memory-reducer-start-delay-ms=100']

await t.test('a start so slow that V8 has begun to reduce the heap still succeeds', t => {
  const { status, signal, stdout, stderr } = spawnSync('env', [...plainNode, ...soon, program], {
    env: processEnvironment,
    encoding: 'utf8',
    timeout: 60_000,
  })

  t.equal(stdout, '0 collections followed', stderr)
  t.equal(status, 0)
  t.equal(signal, null)
  t.end()
})
