import t from 'tap'
import { MemoryFailureCounts } from '../../../../lib/rate-limits/failure-counts.ts'
import { Attempts } from '../../../../lib/web/sign-in/attempts.ts'

const limits = { slowFrom: 2, lockFrom: 5, forgetMs: 1000 }

function attemptsAt(start = 0) {
  const time = { now: start }
  const waits: number[] = []
  const attempts = new Attempts({
    counts: new MemoryFailureCounts({ now: () => time.now }),
    kind: 'test',
    limits,
    wait: ms => Promise.resolve(waits.push(ms)),
  })
  return { attempts, time, waits }
}

await t.test(
  'after the first failures each attempt is slower, and after the limit all are refused',
  async t => {
    const { attempts, waits } = attemptsAt()

    const may: boolean[] = []
    for (let count = 0; count < 7; count += 1) may.push(await attempts.begin('a'))

    t.same(may, [true, true, true, true, true, false, false])
    t.same(waits, [250, 500, 1000, 1000, 1000])
    t.equal(await attempts.begin('b'), true, 'other names are not delayed')
  },
)

await t.test('concurrent attempts do not exceed the limit', async t => {
  const { attempts } = attemptsAt()

  const may = await Promise.all(Array.from({ length: 50 }, () => attempts.begin('a')))

  t.equal(may.filter(Boolean).length, 5)
})

await t.test('a lock ends even if attempts continue', async t => {
  const { attempts, time } = attemptsAt()
  for (let count = 0; count < 5; count += 1) await attempts.begin('a')

  time.now = 900
  t.equal(await attempts.begin('a'), false)
  time.now = 1000

  t.equal(await attempts.begin('a'), true)
})

await t.test('a success deletes the failures of a name, and subtracts one from an address', async t => {
  const { attempts } = attemptsAt()
  for (let count = 0; count < 5; count += 1) await attempts.begin('a')
  await attempts.forget('a')
  t.equal(await attempts.begin('a'), true)

  for (let count = 0; count < 5; count += 1) await attempts.begin('b')
  await attempts.takeBack('b')

  t.same([await attempts.begin('b'), await attempts.begin('b')], [true, false])
})
