import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorTable } from '../../lib/pipeline/errors.ts'

await t.test('the page of errors has every row of the table, unchanged', async t => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  const cells = page
    .split('\n')
    .filter(line => line.startsWith('|'))
    .slice(2)
    .map(line => line.split('|').map(cell => cell.trim()))
  const written = cells.map(row => row.slice(1, -1))

  t.same(
    written,
    Object.entries(errorTable).map(([code, { status, openai, anthropic, google, retry }]) => [
      code,
      String(status),
      `${openai.type} / ${openai.code}`,
      anthropic,
      google,
      retry,
    ]),
  )
})
