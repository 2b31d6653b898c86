import t from 'tap'
import { Breaker } from '../../../lib/upstream/credential-state.ts'

await t.test('five failures in a row open the breaker, and a successful probe closes it', async t => {
  const breaker = new Breaker()
  for (let count = 1; count <= 4; count += 1) breaker.fail(0)
  t.ok(breaker.allows(0))
  breaker.succeed()
  for (let count = 1; count <= 4; count += 1) breaker.fail(0)
  t.ok(breaker.allows(0), 'a success in between resets the count')
  breaker.fail(0)
  t.notOk(breaker.allows(1999))
  t.ok(breaker.allows(2000))
  breaker.enter()
  t.notOk(breaker.allows(2000), 'one probe at a time')
  breaker.leave()
  t.ok(breaker.allows(2000), 'a probe without a result is followed by another')
  breaker.enter()
  breaker.succeed()
  t.ok(breaker.allows(2000))
  breaker.enter()
  t.ok(breaker.allows(2000), 'a closed breaker allows concurrent requests')
})

await t.test('each failed probe doubles the wait, up to a minute', async t => {
  const breaker = new Breaker()
  for (let count = 1; count <= 5; count += 1) breaker.fail(0)
  let now = 0
  for (const waitMs of [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    t.notOk(breaker.allows(now + waitMs - 1))
    now += waitMs
    t.ok(breaker.allows(now), `${waitMs}`)
    breaker.enter()
    breaker.fail(now)
  }
})

await t.test('consecutive failures after sending count once for each account', async t => {
  const breaker = new Breaker()
  for (let count = 0; count < 100; count += 1) breaker.failAfterSending(0, 'one')
  t.ok(breaker.allows(0))
  for (const account of ['two', 'one', 'three']) breaker.failAfterSending(0, account)
  t.ok(breaker.allows(0))
  breaker.failAfterSending(0, 'one')
  t.notOk(breaker.allows(0))
})
