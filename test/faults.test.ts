import t from 'tap'
import { allFaults } from './faults/all-faults.ts'
import { FaultRun } from './faults/fault-run.ts'

// What does not take long of the list; all of it, as a table: npm run test:faults.

// Other tests run beside these, so times are bounded there alone.
const run = new FaultRun({ isAlone: false })
const bound = /; event loop p99 at most \d+ ms$/
t.teardown(() => run.close())

for (const fault of allFaults.filter(({ isSlow }) => isSlow !== true)) {
  await t.test(`${fault.number}: ${fault.title}`, async t => {
    const { seen } = await run.run(fault)
    t.equal(seen, fault.expected.replace(bound, ''))
  })
}
