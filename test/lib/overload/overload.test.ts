import t from 'tap'
import { Pace } from '../../../lib/overload/overload.ts'

function paceAt() {
  const time = { now: 1000 }
  const pace = new Pace({ perSecond: 100, burst: 3, waitMsMax: 50, clock: { now: () => time.now } })
  const many = (owner: string, count: number) => Array.from({ length: count }, () => pace.next(owner))
  return { time, many }
}

await t.test('a burst passes at once, and later requests wait one behind another', async t => {
  const { many } = paceAt()

  t.same(many('a', 6), [0, 0, 0, 10, 20, 30])
  t.same(many('b', 1), [0], 'owners do not wait for each other')
})

await t.test('no request waits longer than the limit, and refused requests use no capacity', async t => {
  const { many, time } = paceAt()

  t.same(many('a', 10).slice(8), [undefined, undefined])
  time.now += 10

  t.same(many('a', 1), [50])
})

await t.test('the burst is available again after some time', async t => {
  const { many, time } = paceAt()
  many('a', 8)
  time.now += 80

  t.same(many('a', 4), [0, 0, 0, 10])
})
