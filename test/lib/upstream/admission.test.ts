import t from 'tap'
import { Admission, type Waiting } from '../../../lib/upstream/credential-state.ts'

function waiting(name: string, log: string[]): Waiting {
  return {
    onAdmitted: () => void log.push(`${name} goes`),
    onWaitedTooLong: () => void log.push(`${name} gives up`),
  }
}

await t.test('requests run up to a limit, then wait in order, and the rest are refused', async t => {
  const log: string[] = []
  const admission = new Admission({ connectionsMax: 2, waitingMax: 2, waitMs: 10_000 })
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(name => waiting(name, log)) as [
    Waiting,
    Waiting,
    Waiting,
    Waiting,
    Waiting,
  ]
  t.equal(admission.enter(a), 'now')
  t.notOk(admission.isBusy)
  t.equal(admission.enter(b), 'now')
  t.ok(admission.isBusy)
  t.equal(admission.enter(c), 'later')
  t.equal(admission.enter(d), 'later')
  t.ok(admission.isFull)
  t.equal(admission.enter(e), 'no')
  admission.leave()
  t.same(log, ['c goes'])
  t.ok(admission.giveUp(d))
  t.notOk(admission.giveUp(d), 'the request no longer waits')
  t.notOk(admission.giveUp(c))
  admission.leave()
  admission.leave()
  t.same(log, ['c goes'])
  t.equal(admission.enter(e), 'now')
})

await t.test('no request waits longer than the limit', async t => {
  const log: string[] = []
  const admission = new Admission({ connectionsMax: 1, waitingMax: 5, waitMs: 20 })
  admission.enter(waiting('a', log))
  admission.enter(waiting('b', log))
  await new Promise(resolve => setTimeout(resolve, 60))
  t.same(log, ['b gives up'])
  admission.leave()
  t.same(log, ['b gives up'], 'the slot is free again')
  t.notOk(admission.isBusy)
})

await t.test('waiting accounts take turns, however many requests each has', t => {
  const log: string[] = []
  const admission = new Admission({ connectionsMax: 1, waitingMax: 10, waitMs: 10_000 })
  const enter = (accountId: string, name: string): Waiting => {
    const one = waiting(name, log)
    admission.enter(one, accountId)
    return one
  }
  enter('many', 'm0')
  const [gone] = ['m1', 'm2', 'm3', 'm4'].map(name => enter('many', name))
  enter('few', 'f1')
  enter('few', 'f2')
  enter('one', 'o1')
  t.ok(admission.giveUp(gone as Waiting))
  for (let left = 0; left < 8; left += 1) admission.leave()
  t.same(
    log.map(line => line.slice(0, 2)),
    ['m2', 'f1', 'o1', 'm3', 'f2', 'm4'],
  )
  t.end()
})
