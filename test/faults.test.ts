import t from 'tap'
import { allFaults } from './faults/all-faults.ts'
import { FaultRun } from './faults/fault-run.ts'

// The faster rows of the list; all of it, as a table: npm run test:faults.

// Other tests run beside these and before them in this process, so only the full run bounds times and memory.
const run = new FaultRun({ isAlone: false })
const bound = /; (?:event loop p99 at most \d+ ms$|less than \d MB kept for each)| within \d+ s(?=;)/
t.teardown(() => run.close())

for (const fault of allFaults.filter(({ isSlow }) => isSlow !== true)) {
  await t.test(`${fault.number}: ${fault.title}`, async t => {
    const { seen } = await run.run(fault)
    t.equal(seen, fault.expected.replace(bound, ''))
  })
}
