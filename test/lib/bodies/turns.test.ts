import t from 'tap'
import { Turns } from '../../../lib/bodies/turns.ts'

function busy(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

await t.test(
  'work is done at once while there is time, and in order and later turns when there is none',
  async t => {
    const turns = new Turns()
    const done: string[] = []
    const work = (name: string) => () => {
      busy(5)
      done.push(name)
      return name
    }
    t.equal(turns.take(work('first')), 'first', 'at once')
    const later = ['second', 'third'].map(name => Promise.resolve(turns.take(work(name))))
    t.same(done, ['first'])
    let between = 0
    setImmediate(() => (between = done.length))
    t.same(await Promise.all(later), ['second', 'third'])
    t.same(done, ['first', 'second', 'third'])
    t.ok(between < 3, 'others had a turn between')
  },
)

await t.test('what fails fails alone', async t => {
  const turns = new Turns()
  const fail = (): never => {
    throw new Error('no')
  }
  t.throws(() => turns.take(fail), /no/)
  turns.take(() => busy(5))
  await t.rejects(Promise.resolve(turns.take(fail)), /no/)
  t.equal(await turns.take(() => 1), 1)
})

await t.test('what goes on in promises has a turn to itself, and then waits for the others', async t => {
  const turns = new Turns()
  const steps: string[] = []
  async function walk(name: string): Promise<void> {
    for (let step = 0; step < 3; step += 1) {
      const turn = turns.enter()
      if (turn !== undefined) await turn
      steps.push(`${name}${step}`)
      busy(2)
    }
  }
  await Promise.all([walk('a'), walk('b'), turns.take(() => steps.push('work'))])
  t.same(steps, ['a0', 'a1', 'b0', 'work', 'a2', 'b1', 'b2'], 'in the order in which they asked')
})
