import t from 'tap'
import { until } from '../../fixtures/until.ts'
import { FreeRequests } from '../../../lib/overload/free-requests.ts'

await t.test('an account may send ten seconds’ worth of requests at once, and later more', async t => {
  const free = new FreeRequests(6000)
  const refusal = { code: 'rate_limited', status: 429, retryAfterSeconds: 1 }
  let refused: Promise<never> | undefined
  let count = 0
  for (; count < 2000 && refused === undefined; count += 1) refused = free.admit('one')

  await t.rejects(refused ?? Promise.resolve(), refusal)
  t.ok(count >= 1000 && count < 1200, `${count} at once`)
  t.equal(free.admit('another'), undefined, 'each account has its own limit')
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(free.admit('one'), undefined, 'a hundred requests are allowed each second')
})

await t.test('beyond the limit the first refusals are immediate, and later ones come one by one', async t => {
  const free = new FreeRequests(1)
  free.admit('one')
  let count = 0
  for (let sent = 0; sent < 80; sent += 1) free.admit('one')?.catch(() => (count += 1))

  await new Promise(resolve => setImmediate(resolve))

  t.ok(count >= 1 && count < 80, `${count} at once`)
  await until(() => count === 80)
})

await t.test('work of one account is done in sequence, work of other accounts in parallel', async t => {
  const free = new FreeRequests(60)
  const done: string[] = []
  const work =
    (name: string, ms: number, fails = false) =>
    async (): Promise<void> => {
      await new Promise(resolve => setTimeout(resolve, ms))
      done.push(name)
      if (fails) throw new Error(name)
    }

  const first = free.inTurn('one', work('first', 60, true))
  const second = free.inTurn('one', work('second', 0))
  await free.inTurn('another', work('beside', 0))
  await t.rejects(first, { message: 'first' })
  await second

  t.strictSame(done, ['beside', 'first', 'second'])
})
