import t from 'tap'
import { StreamRestorer } from '../../../../lib/dialects/openai/restore-stream.ts'

// Quadratic code takes minutes: copying all held bytes for each piece, or scanning each line to the end of the event.
await t.test('an event in a million pieces is restored within ten seconds', async t => {
  const restorer = new StreamRestorer()
  const began = performance.now()
  let out = restorer.push(Buffer.from('data: ')).length
  for (let index = 0; index < 1_000_000; index += 1) out += restorer.push(Buffer.from('a')).length
  out += restorer.push(Buffer.from('\n\n')).length + restorer.end().length
  t.equal(out, 1_000_008)
  t.ok(performance.now() - began < 10_000)
})

await t.test('an event of 1,900,000 lines that end in CR alone is restored within ten seconds', async t => {
  const restorer = new StreamRestorer()
  const event = Buffer.from(`${':\r'.repeat(1_900_000)}:"usage"\n\n`)
  const began = performance.now()
  t.ok(Buffer.concat([restorer.push(event), restorer.end()]).equals(event))
  t.ok(performance.now() - began < 10_000)
})
