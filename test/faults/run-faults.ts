import { writeSync } from 'node:fs'
import { allFaults } from './all-faults.ts'
import { FaultRun } from './fault-run.ts'

// `npm run test:faults -- 16 17` runs only these numbers, `-- --fast` leaves out slow cases.

const words = process.argv.slice(2)
const numbers = words.map(Number).filter(Number.isInteger)
const chosen = allFaults.filter(
  fault =>
    (numbers.length === 0 || numbers.includes(fault.number)) &&
    !(words.includes('--fast') && fault.isSlow === true),
)
const run = new FaultRun({ isAlone: true })
let failedCount = 0
writeSync(1, '| case | what | expected | seen |\n| ---: | --- | --- | --- |\n')
for (const fault of chosen) {
  const { seen, isAsExpected, durationMs } = await run.run(fault)
  if (!isAsExpected) failedCount += 1
  const mark = isAsExpected ? 'as expected' : `**${seen}**`
  writeSync(1, `| ${fault.number} | ${fault.title} | ${fault.expected} | ${mark} |\n`)
  if (words.includes('--times')) writeSync(2, `${fault.number} ${Math.round(durationMs)} ms\n`)
}
await run.close()
writeSync(1, `\n${chosen.length - failedCount} of ${chosen.length} as expected\n`)
process.exitCode = failedCount === 0 ? 0 : 1
