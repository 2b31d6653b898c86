import t from 'tap'
import { FreeRequests } from '../../../lib/overload/free-requests.ts'

await t.test('an account may make a sixth of a minute at once, and goes on in time', async t => {
  const free = new FreeRequests(6000)
  const refusal = { code: 'rate_limited', status: 429, retryAfterSeconds: 1 }
  let count = 0
  const all = (): void => {
    for (; count < 2000; count += 1) free.admit('one')
  }

  t.throws(all, refusal)
  t.ok(count >= 1000 && count < 1200, `${count} at once`)
  t.doesNotThrow(() => free.admit('another'), 'each account has its own')
  await new Promise(resolve => setTimeout(resolve, 100))
  t.doesNotThrow(() => free.admit('one'), 'a hundred a second')
})

await t.test('work of one account is done one after another, of others beside it', async t => {
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
