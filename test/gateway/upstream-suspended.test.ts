import t from 'tap'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { dialectCalls } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { plainAnswer, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { until } from '../fixtures/until.ts'

const json = ['content-type', 'application/json']
const refusals = {
  openai: [401, '{"error":{"message":"Incorrect API key","type":"x","code":"invalid_api_key"}}'],
  anthropic: [401, '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'],
  google: [
    400,
    '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}',
  ],
} as const

// The first suspension lasts five minutes by the steady clock, and it doubles.
const suspensionMs = 300_000

for (const call of dialectCalls) {
  await t.test(`${call.name}: one request probes whether a suspended credential works again`, async t => {
    let offsetMs = 0
    const clock = { now: () => performance.now() + offsetMs }
    let isGood = false
    let letGo: (() => void) | undefined
    const [status, body] = refusals[call.name]
    const waiting: Promise<void>[] = []
    const refuse = (): RawAnswer | undefined => (isGood ? undefined : plainAnswer(status, json, body))
    const { gateway, upstream } = await startWithCredentials(t, call, ['only'], refuse, {}, clock)
    const { answer } = upstream
    upstream.answer = async request => {
      await Promise.all(waiting)
      return await answer(request)
    }
    const hold = (): void => void waiting.push(new Promise<void>(resolve => (letGo = resolve)))
    /** Sends five requests at once; returns the statuses of the four that do not wait, then of the probe. */
    const askFive = async (): Promise<number[]> => {
      const statuses: number[] = []
      const before = upstream.requests.length
      hold()
      const pending = Array.from({ length: 5 }, async () =>
        statuses.push((await askAs(gateway, call)).status),
      )
      await until(() => statuses.length === 4)
      await until(() => upstream.requests.length > before)
      t.equal(upstream.requests.length - before, 1, 'one request is sent')
      letGo?.()
      await Promise.all(pending)
      return statuses
    }

    t.equal((await askAs(gateway, call)).status, 502, 'it is suspended')
    t.equal((await askAs(gateway, call)).status, 502)
    t.equal(upstream.requests.length, 1)

    offsetMs += suspensionMs
    t.same(await askFive(), [502, 502, 502, 502, 502], 'it is still refused')
    offsetMs += suspensionMs
    t.equal((await askAs(gateway, call)).status, 502)
    t.equal(upstream.requests.length, 2, 'the next suspension lasts longer')

    offsetMs += suspensionMs
    isGood = true
    t.same(await askFive(), [502, 502, 502, 502, 200], 'it works again')
    const all = await Promise.all(Array.from({ length: 5 }, () => askAs(gateway, call)))
    t.ok(
      all.every(one => one.status === 200),
      'and then all are sent',
    )

    await settled(gateway, 18)
    t.equal((await gateway.chargesOfWork()).length, 6)
    await checkMoney(t, gateway)
  })

  await t.test(`${call.name}: an inconclusive probe is followed by another`, async t => {
    let offsetMs = 0
    const clock = { now: () => performance.now() + offsetMs }
    const [status, body] = refusals[call.name]
    const answers = [
      plainAnswer(status, json, body),
      plainAnswer(500, json, '{"error":{"message":"oops"}}'),
      plainAnswer(429, json, '{"error":{"message":"slow down"}}'),
      { pieces: [], then: 'reset' as const },
    ]
    const { gateway } = await startWithCredentials(t, call, ['only'], () => answers.shift(), {}, clock)

    const found: number[] = []
    for (let count = 0; count < 6; count += 1) {
      found.push((await askAs(gateway, call)).status)
      offsetMs = suspensionMs
    }

    t.same(found, [502, 500, 429, 502, 200, 200])
    await settled(gateway, 6)
    await checkMoney(t, gateway)
  })
}
