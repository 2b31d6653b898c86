import fc from 'fast-check'
import t from 'tap'
import { hashText, rendezvousScore } from '../../../lib/upstream/rendezvous.ts'

function chosen(key: string, choices: Readonly<Record<string, number>>): string {
  const hash = hashText(key)
  const scored = Object.entries(choices).map(([name, weight]) => ({
    name,
    score: rendezvousScore(hash, name, weight),
  }))
  return scored.reduce((best, next) => (next.score > best.score ? next : best)).name
}

await t.test('keys are distributed by weight', async t => {
  const choices = { 'openai#1': 1, 'openai#2': 1, 'openai#3': 2 }
  const counts: Record<string, number> = {}
  for (let index = 0; index < 20_000; index += 1) {
    const name = chosen(`account session ${index}`, choices)
    counts[name] = (counts[name] ?? 0) + 1
  }
  t.ok(Math.abs((counts['openai#1'] ?? 0) - 5000) < 300, JSON.stringify(counts))
  t.ok(Math.abs((counts['openai#2'] ?? 0) - 5000) < 300)
  t.ok(Math.abs((counts['openai#3'] ?? 0) - 10_000) < 400)
})

await t.test('when a choice is removed, only its own keys move', async t => {
  const all = { a: 1, b: 3, c: 1, d: 2 }
  const without = { a: 1, b: 3, d: 2 }
  fc.assert(
    fc.property(fc.string(), key => {
      const before = chosen(key, all)
      return before === 'c' || chosen(key, without) === before
    }),
  )
  t.pass()
})
