import t from 'tap'
import { runSteps } from '../../../lib/bodies/turns.ts'
import { realtime } from '../../../lib/dialects/openai/realtime.ts'
import { namesIn } from '../../../lib/dialects/session.ts'
import { RealtimeReader } from '../../../lib/dialects/openai/realtime-reader.ts'

const reader = new RealtimeReader({ providerKind: 'openai', isPricedBySecond: false, model: '' })

await t.test('a short message is read at once', t => {
  t.match(runSteps(reader.onClient(Buffer.from('{"type":"response.create","event_id":"x"}'))), {
    starts: 'response',
    id: 'x',
  })
  t.end()
})

await t.test('a long message is read over many iterations of the event loop', async t => {
  const long = Buffer.from(`{"a":[${'{},'.repeat(2_000_000)}{}],"type":"response.create"}`)
  let iterations = 0
  let isOver = false
  const count = (): void => {
    iterations += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const reading = runSteps(reader.onClient(long))
  t.type(reading, Promise)
  t.match(await reading, { starts: 'response' })
  t.ok(iterations > 10, String(iterations))
  isOver = true
})

await t.test('an error in a later step is the same as in the first', async t => {
  const wrong = Buffer.from(`{"a":"${'a'.repeat(100_000)}",}`)
  await t.rejects(async () => runSteps(reader.onClient(wrong)), { code: 'body_invalid' })
  t.throws(() => runSteps(reader.onClient(Buffer.from('{'))), { code: 'body_invalid' })
  const parts = Buffer.from(`{"item":{"content":[${'{"file_id":"f"},'.repeat(30_000)}{}]}}`)
  const { session } = realtime
  if (session === undefined) throw new Error('it is a session')
  await t.rejects(async () => runSteps(namesIn(session, parts)), { code: 'body_invalid' })
})
