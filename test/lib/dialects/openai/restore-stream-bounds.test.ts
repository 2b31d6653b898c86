import t from 'tap'
import { StreamRestorer } from '../../../../lib/dialects/openai/restore-stream.ts'

// Each takes minutes where every piece has all that is held copied, or every line is looked through to the end.
await t.test('how long an event is worked on grows no faster than the event, however it is cut', async t => {
  const restorer = new StreamRestorer()
  let out = restorer.push(Buffer.from('data: ')).length
  for (let index = 0; index < 1_000_000; index += 1) out += restorer.push(Buffer.from('a')).length
  out += restorer.push(Buffer.from('\n\n')).length + restorer.end().length
  t.equal(out, 1_000_008)
})

await t.test('lines that end in CR alone are looked at once', async t => {
  const restorer = new StreamRestorer()
  const event = Buffer.from(`${':\r'.repeat(1_900_000)}:"usage"\n\n`)
  t.ok(Buffer.concat([restorer.push(event), restorer.end()]).equals(event))
})
