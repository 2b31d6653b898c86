import fc from 'fast-check'
import t from 'tap'
import { OpenList } from '../../../lib/pipeline/open-list.ts'

await t.test('an open list contains the added items that were not deleted', async t => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 60 })
  fc.assert(
    fc.property(steps, script => {
      const items = Array.from({ length: 10 }, (_, name) => ({ name, slot: -1 }))
      const list = new OpenList<(typeof items)[number]>()
      const expected = new Set<number>()
      for (const [isAdded, name] of script) {
        const item = items[name] as (typeof items)[number]
        if (!isAdded) list.delete(item)
        else if (!expected.has(name)) list.add(item)
        if (isAdded) expected.add(name)
        else expected.delete(name)
        const names = list.all().map(open => open.name)
        t.equal(list.size, expected.size)
        t.strictSame(new Set(names), expected)
      }
    }),
    { numRuns: 50 },
  )
})

await t.test('deleting items during iteration skips none', async t => {
  const list = new OpenList<{ slot: number }>()
  for (let count = 0; count < 3; count += 1) list.add({ slot: -1 })
  let visits = 0
  for (const item of list.all()) {
    visits += 1
    list.delete(item)
  }
  t.equal(visits, 3)
  t.equal(list.size, 0)
})
