import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '../../../lib/platform/clock.ts'
import { GatewayError } from '../../../lib/pipeline/errors.ts'
import {
  memoryCounters,
  RateLimits,
  type Admission,
  type Limits,
} from '../../../lib/rate-limits/rate-limits.ts'

/** The real time plus the time that a test adds. */
function steppedClock(): { now(): number; aheadMs: number } {
  const clock = { aheadMs: 0, now: () => systemClock.now() + clock.aheadMs }
  return clock
}

async function refusal(attempt: Promise<Admission>): Promise<GatewayError> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof GatewayError) return error
  throw new Error('the request was admitted', { cause: error })
}

await t.test('a burst is admitted up to the limit, and the refusal has the time to retry', async t => {
  const limits = new RateLimits(systemClock, memoryCounters(systemClock))
  const attempts = await Promise.allSettled(
    Array.from({ length: 15 }, () => limits.admit('k', { requestsPerMinute: 10 }, 0)),
  )
  t.equal(attempts.filter(attempt => attempt.status === 'fulfilled').length, 10)
  const error = await refusal(limits.admit('k', { requestsPerMinute: 10 }, 0))
  t.match(error, { code: 'rate_limited', details: { limit: 10, unit: 'requests_per_minute' } })
  t.match(error.message, /^The key's limit is 10 requests a minute, .* It frees in \d+ s, at \d{4}-.*Z\.$/)
  t.ok((error.retryAfterSeconds ?? 0) >= 59 && (error.retryAfterSeconds ?? 0) <= 60)
  await t.resolves(limits.admit('other', { requestsPerMinute: 10 }, 0), 'keys do not share a limit')
  t.equal(limits.openRequests('k'), 10, 'refused requests hold no slot')
})

await t.test('tokens are reserved, and unused ones are released', async t => {
  const limits = new RateLimits(systemClock, memoryCounters(systemClock))
  const most: Limits = { tokensPerMinute: 1000 }
  const first = await limits.admit('k', most, 700)
  const error = await refusal(limits.admit('k', most, 400))
  t.match(error.message, '1000 tokens a minute, of which 300 are left; this request may take 400')
  const second = await limits.admit('k', most, 300)
  await first.end(100)
  const third = await limits.admit('k', most, 600)
  await refusal(limits.admit('k', most, 1))
  await second.end(undefined)
  await refusal(limits.admit('k', most, 1))
  await third.end(0)
  await (await limits.admit('k', most, 600)).end(900)
  await refusal(limits.admit('k', most, 1))
})

await t.test('a request for more than the limit is admitted if it is the only one', async t => {
  const limits = new RateLimits(systemClock, memoryCounters(systemClock))
  const most: Limits = { tokensPerMinute: 1000 }
  await (await limits.admit('k', most, 64_000)).end(200)
  t.match((await refusal(limits.admit('k', most, 64_000))).message, 'of which 800 are left')
})

await t.test('a refused request releases its share of the other limits', async t => {
  const limits = new RateLimits(systemClock, memoryCounters(systemClock))
  const most: Limits = { requestsPerMinute: 2, tokensPerMinute: 100, concurrentRequests: 5 }
  await limits.admit('k', most, 90)
  for (let count = 0; count < 5; count += 1) await refusal(limits.admit('k', most, 50))
  t.equal(limits.openRequests('k'), 1)
  await t.resolves(limits.admit('k', most, 10), 'no request and no tokens were counted')
})

await t.test('slots are free when requests end', async t => {
  const limits = new RateLimits(systemClock, memoryCounters(systemClock))
  const first = await limits.admit('k', { concurrentRequests: 2 }, 0)
  await limits.admit('k', { concurrentRequests: 2 }, 0)
  t.match(await refusal(limits.admit('k', { concurrentRequests: 2 }, 0)), {
    retryAfterSeconds: 1,
    details: { limit: 2, unit: 'concurrent_requests' },
  })
  await first.end(undefined)
  await t.resolves(limits.admit('k', { concurrentRequests: 2 }, 0))
})

await t.test('tokens released after their minute are not added to the next one', async t => {
  const clock = steppedClock()
  const { tokens: counter } = memoryCounters(clock)
  const minute = await counter.add('k', 500)
  t.ok(minute.endsAt > clock.now() + 59_000)
  clock.aheadMs = 61_000
  await counter.takeBack('k', 500, minute)
  t.equal((await counter.add('k', 1)).points, 501)
})

await t.test('no slot is lost and no limit exceeded in any order of requests', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b'),
    tokens: fc.integer({ min: 0, max: 150 }),
    used: fc.option(fc.integer({ min: 0, max: 150 }), { nil: undefined }),
    isEnd: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const limits = new RateLimits(systemClock, memoryCounters(systemClock))
      const open: { key: string; admission: Admission }[] = []
      for (const { key, tokens, used, isEnd } of steps) {
        const one = isEnd ? open.shift() : undefined
        if (one !== undefined) await one.admission.end(used)
        const most = { requestsPerMinute: 12, tokensPerMinute: 200, concurrentRequests: 3 }
        const admission = await limits.admit(key, most, tokens).catch((error: unknown) => {
          if (!(error instanceof GatewayError)) throw error
        })
        if (admission !== undefined) open.push({ key, admission })
        for (const name of ['a', 'b']) {
          const count = open.filter(other => other.key === name).length
          if (count > 3 || limits.openRequests(name) !== count) return false
        }
      }
      for (const { admission } of open) await admission.end(0)
      return limits.openRequests('a') === 0 && limits.openRequests('b') === 0
    }),
  )
})
