import t from 'tap'
import { measureOthers } from '../fixtures/beside-attack.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess } from '../fixtures/serve-process.ts'

// A response that says what was used a million times: nothing of it is kept, and others are served meanwhile.

const isFull = (process.env['HOSTILE'] ?? '') !== ''
/** As the table of stalls has it; in `npm test` other tests have the cores, too. */
const silentMsMax = isFull ? 250 : 1000
const ratioMax = 8
const roundsMax = 4
const count = 1_000_000

const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })

for (const call of dialectCalls) {
  await t.test(`${call.name}: a million usages pass, and others are served beside them`, async t => {
    const usual = plainAnswer(200, ['content-type', 'application/json'], call.document)
    upstream.answer = () => usual
    const idle = await measureOthers(gateway, 500)
    const member = call.name === 'google' ? '"usageMetadata":{},' : '"usage":{},'
    const bodyOfMany = Buffer.from(`{${member.repeat(count)}${call.document.slice(1)}`)
    const many = plainAnswer(200, ['content-type', 'application/json'], bodyOfMany)
    const options = { headers: [...call.keyHeader(gateway.key), 'x-many', 'yes'], body: call.body(false) }
    for (let round = 1; ; round += 1) {
      const before = (await gateway.charges()).length
      upstream.answer = ({ headers }) => (headers.includes('x-many') ? many : usual)
      const hostile = send(gateway.url + call.path(false), options)
      const beside = await measureOthers(gateway, 2000)
      const response = await hostile
      t.comment(
        `/healthz silent for ${beside.silentMs.toFixed(0)} ms, others' p99 ${beside.p99Ms.toFixed(0)} ms`,
      )
      const bound = Math.max(silentMsMax, idle.silentMs * ratioMax)
      if (beside.silentMs > bound && round < roundsMax) continue
      t.equal(response.status, 200)
      t.ok(response.body.equals(bodyOfMany), 'the same bytes')
      t.ok(beside.silentMs <= bound, `silent for ${beside.silentMs.toFixed(0)} ms`)
      t.equal(beside.failures, 0, 'others are served')
      t.ok((await gateway.charges()).length >= before + beside.count)
      return
    }
  })
}

await t.test('the ledger is in order', async t => {
  t.same(await gateway.breaches(), [])
})
