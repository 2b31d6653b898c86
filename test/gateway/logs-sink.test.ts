import { openSync, closeSync, existsSync } from 'node:fs'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { startRawUpstream, plainAnswer } from '../fixtures/raw-upstream.ts'
import { send } from '../fixtures/http-client.ts'
import { droppedLines, fillLog } from '../fixtures/fill-log.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]

await t.test('fault 57: an unread log delays neither requests nor the exit', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await serveProcess(t, {
    config: callConfig(upstream.origin, {}, { log: { level: 'info' } }),
  })
  gateway.child.stderr?.pause()

  await fillLog(gateway)

  t.ok((await droppedLines(gateway)) > 0, 'the counter of lost lines rises')
  for (let n = 0; n < 20; n += 1) {
    const answer = await send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: openai.body(false),
    })
    t.match(answer, { status: 200, isWhole: true })
  }
  t.equal((await gateway.charges()).length, 20)
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exited, 0, 'and it exits')
  t.same(await gateway.breaches(), [])
})

await t.test('a log that is read again continues with whole lines', async t => {
  const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
  const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })
  gateway.child.stderr?.pause()
  await fillLog(gateway)
  const lost = await droppedLines(gateway)

  gateway.child.stderr?.resume()
  await until(() => gateway.written().length > 8_000_000)
  const last = await send(`${gateway.url}/v1/nothing`, { body: '{}' })
  await until(() => gateway.written().includes(last.requestId))

  t.ok(
    gateway.lines().every(line => typeof line['msg'] === 'string'),
    'every line is whole',
  )
  t.equal(await droppedLines(gateway), lost)
})

await t.test(
  'fault 57: a full disk under the log delays nothing',
  { skip: !existsSync('/dev/full') },
  async t => {
    const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
    const full = openSync('/dev/full', 'a')
    t.teardown(() => closeSync(full))
    const gateway = await serveProcess(t, { config: callConfig(upstream.origin), stderr: full })

    await fillLog(gateway)

    t.ok((await droppedLines(gateway)) > 0)
    const answer = await send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: openai.body(false),
    })
    t.match(answer, { status: 200, isWhole: true })
    gateway.child.kill('SIGTERM')
    t.equal(await gateway.exited, 0)
    t.same(await gateway.breaches(), [])
  },
)
