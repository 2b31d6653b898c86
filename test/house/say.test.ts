import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

await t.test('a report whose reader leaves after its first line ends without an error', t => {
  const program = `import { say } from ${JSON.stringify(join(import.meta.dirname, 'say.ts'))}
for (let line = 0; line < 20_000; line += 1) say('line ' + line)`
  const read = spawnSync(
    'bash',
    ['-o', 'pipefail', '-c', '"$0" --input-type=module -e "$1" | head -n 1', process.execPath, program],
    {
      encoding: 'utf8',
    },
  )
  t.match(read, { status: 0, stdout: 'line 0\n', stderr: '' })
  t.end()
})
