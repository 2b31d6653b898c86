import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { plainNode, processEnvironment } from '../../fixtures/process-environment.ts'

const program = join(import.meta.dirname, '../../fixtures/give-back-memory.ts')
/** V8 begins to reduce a heap after eight seconds, or thirty. */
const soon = ['--memory-reducer-delay-ms=100', '--gc-memory-reducer-start-delay-ms=100']

await t.test('a start that took so long that V8 had begun to reduce the heap goes on', t => {
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
