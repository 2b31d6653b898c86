import t from 'tap'
import { measureOthers } from '../fixtures/beside-attack.ts'
import { callConfig, dialectCalls } from '../fixtures/dialect-call.ts'
import type { DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { serveProcess } from '../fixtures/serve-process.ts'

// A response that reports its usage a million times, in a document, in one event or in many: the gateway keeps none of
// it, and serves other clients meanwhile.

const isFull = (process.env['HOSTILE'] ?? '') !== ''
/** As in the table of stalls; in the usual runs other tests use the cores too. */
const silentMsMax = isFull ? 250 : 1000
const p99MsMax = isFull ? 50 : 500
const ratioMax = 8
const roundsMax = 4
const count = 1_000_000

const upstream = await startRawUpstream(t, () => ({ pieces: [] }))
const gateway = await serveProcess(t, { config: callConfig(upstream.origin) })

interface Row {
  readonly name: string
  readonly isStreaming: boolean
  readonly body: Buffer
}

function rowsOf({ name, document, events }: DialectCall): readonly Row[] {
  const member = name === 'google' ? '"usageMetadata":{},' : '"usage":{},'
  const event = (times: number): string => `data: {${member.repeat(times)}"x":1}\n\n`
  const stream = events.join('')
  return [
    {
      name: `${name}: a document`,
      isStreaming: false,
      body: Buffer.from(`{${member.repeat(count)}${document.slice(1)}`),
    },
    { name: `${name}: one event`, isStreaming: true, body: Buffer.from(event(count) + stream) },
    { name: `${name}: long events`, isStreaming: true, body: Buffer.from(event(12_500).repeat(80) + stream) },
    {
      name: `${name}: short events`,
      isStreaming: true,
      body: Buffer.from(event(1).repeat(count / 2) + stream),
    },
  ]
}

const [openaiCall] = dialectCalls as readonly [DialectCall]

/** In the usual runs one dialect is enough. */
const calls = isFull ? dialectCalls : dialectCalls.slice(0, 1)
for (const [call, row] of calls.flatMap(call => rowsOf(call).map(row => [call, row] as const))) {
  const { isStreaming, body } = row
  await t.test(`${row.name} of a million usages passes, and other clients are served meanwhile`, async t => {
    // The others ask in OpenAI's format, whichever the hostile provider answers in.
    const usual = plainAnswer(200, ['content-type', 'application/json'], openaiCall.document)
    upstream.answer = () => usual
    const idle = await measureOthers(gateway, 500)
    const many = plainAnswer(
      200,
      ['content-type', isStreaming ? 'text/event-stream' : 'application/json'],
      body,
    )
    const options = {
      headers: [...call.keyHeader(gateway.key), 'x-many', 'yes'],
      body: call.body(isStreaming),
    }
    for (let round = 1; ; round += 1) {
      const before = (await gateway.charges()).length
      upstream.answer = ({ headers }) => (headers.includes('x-many') ? many : usual)
      const hostile = send(gateway.url + call.path(isStreaming), options)
      const beside = await measureOthers(gateway, 2000)
      const response = await hostile
      t.comment(
        `/healthz silent for ${beside.silentMs.toFixed(0)} ms, others' p99 ${beside.p99Ms.toFixed(0)} ms`,
      )
      const silentBound = Math.max(silentMsMax, idle.silentMs * ratioMax)
      const p99Bound = Math.max(p99MsMax, idle.p99Ms * ratioMax)
      const isHeld = beside.silentMs <= silentBound && beside.p99Ms <= p99Bound
      if (!isHeld && round < roundsMax) continue
      t.equal(response.status, 200)
      t.ok(response.body.equals(body), 'the same bytes')
      t.ok(beside.silentMs <= silentBound, `silent for ${beside.silentMs.toFixed(0)} ms`)
      t.ok(beside.p99Ms <= p99Bound, `others' p99 ${beside.p99Ms.toFixed(0)} ms`)
      t.equal(beside.failures, 0, 'other clients are served')
      const charges = (await gateway.charges()).slice(before)
      t.ok(charges.length > beside.count, 'each response was charged')
      const amounts = new Set(charges.map(({ amount }) => amount))
      t.equal(amounts.size, 1, 'the charge is by the last usage')
      return
    }
  })
}

await t.test('the ledger is in order', async t => {
  t.same(await gateway.breaches(), [])
})
