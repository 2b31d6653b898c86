import { join } from 'node:path'
import t from 'tap'
import { readProblem } from '../../../lib/platform/file-problem.ts'

await t.test('a missing file and an unreadable one are different problems', async t => {
  const folder = t.testdir({ here: '', loop: t.fixture('symlink', 'loop') })
  const at = (name: string) => readProblem(join(folder, name))

  t.equal(at('here'), undefined)
  t.match(at('gone'), { isMissing: true, words: `there is no file ${join(folder, 'gone')}` })
  t.match(at('here/below'), { isMissing: true })
  t.match(at('loop'), { isMissing: false, words: /loop cannot be read: ELOOP/ })
})
