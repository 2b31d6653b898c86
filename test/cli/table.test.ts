import t from 'tap'
import { formatTable } from '../../lib/cli/command.ts'

t.test("names from customers do not move the operator's cursor, and stay on one row", async t => {
  const rows = [
    { model: 'gpt-\u001b[2J\u001b[31m', roubles: '1.00' },
    { model: 'a\nb\u202e\u009bc', roubles: '20.00' },
  ]

  t.equal(
    formatTable(rows, ['roubles']),
    'MODEL          ROUBLES\ngpt-\uFFFD[2J\uFFFD[31m     1.00\na\uFFFDb\uFFFD\uFFFDc           20.00\n',
  )
})
