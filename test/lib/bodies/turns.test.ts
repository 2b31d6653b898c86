import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { Turns } from '../../../lib/bodies/turns.ts'

/** The clock of the turns: it advances only in `busy`, so that a loaded machine does not change the results. */
let nowMs = 0

function busy(ms: number): void {
  nowMs += ms
}

function newTurns(): Turns {
  return new Turns(() => nowMs)
}

await t.test('work is done at once while there is time, and else in order in later iterations', async t => {
  const turns = newTurns()
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
  t.ok(between < 3, 'the event loop went round in between')
})

await t.test('work that throws does not affect other work', async t => {
  const turns = newTurns()
  const fail = (): never => {
    throw new Error('no')
  }
  t.throws(() => turns.take(fail), /no/)
  turns.take(() => busy(5))
  await t.rejects(Promise.resolve(turns.take(fail)), /no/)
  t.equal(await turns.take(() => 1), 1)
})

await t.test('a promise chain has an iteration to itself, and then waits for the others', async t => {
  const turns = newTurns()
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
  t.same(steps, ['a0', 'a1', 'b0', 'work', 'a2', 'b1', 'b2'], 'in the order of their requests')
})

await t.test('owners have their turns one after another, however much each has waiting', async t => {
  const turns = newTurns()
  const done: string[] = []
  turns.take(() => busy(2))
  const waiting = [
    ...Array.from({ length: 5 }, (_, index) => turns.wait('many').then(() => done.push(`many ${index}`))),
    turns.wait('few').then(() => done.push('few')),
    turns.wait().then(() => done.push('ownerless')),
  ]
  await Promise.all(waiting)
  t.same(done, ['many 0', 'few', 'ownerless', 'many 1', 'many 2', 'many 3', 'many 4'])
})

await t.test('a waiter that did no work before gets its turn too', async t => {
  const turns = newTurns()
  await turns.wait('one')
  await turns.wait('one')
  t.pass('both waits end')
})

await t.test('work in promises and ticks counts as time', async t => {
  const turns = newTurns()
  turns.take(() => busy(2))
  const turnOf: number[] = []
  let turn = 0
  const count = (): void => {
    turn += 1
    if (turnOf.length < 4) setImmediate(count)
  }
  setImmediate(count)
  const walk = async (): Promise<void> => {
    await turns.wait()
    await Promise.resolve()
    await new Promise(resolve => process.nextTick(resolve))
    busy(2)
    turnOf.push(turn)
  }
  await Promise.all([walk(), walk(), walk(), walk()])
  t.equal(new Set(turnOf).size, 4, 'each has an iteration of the event loop to itself')
})

await t.test('a single new request goes before waiting ones, while there is some time left', async t => {
  const turns = newTurns()
  turns.take(() => busy(1))
  const waiting = turns.wait('flood')
  t.equal(turns.mayGoOn(), false)
  t.ok(turns.mayBegin())
  busy(5)
  t.equal(turns.mayBegin(), false)
  await waiting
})

await t.test('finished waiters are freed, even if a collection ran while others waited', async t => {
  const program = join(import.meta.dirname, '../../fixtures/turns-kept.ts')
  const keptBytes = Number(execFileSync(process.execPath, [program], { encoding: 'utf8' }))
  t.ok(keptBytes < 50, `each keeps ${Math.round(keptBytes)} bytes`)
})
