import { writeFileSync, readFileSync } from 'node:fs'
import t from 'tap'
import { listClosing } from '../../../lib/documents/closing-documents.ts'
import { writeConfig } from '../../cli/run-gateway.ts'
import { checkThatNothingChanges, checkYears } from '../../contracts/check-years.ts'
import {
  beginYears,
  closeAtOnce,
  killWhileClosing,
  liveMonth,
  months,
  noon,
  reissue,
  seller,
  stopBehind,
} from '../../contracts/company-years.ts'
import { sellerYaml } from '../../fixtures/companies.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'

await t.test('three years of documents agree with the ledger, with killed closes, on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  const { config } = writeConfig(t.testdir(), sellerYaml(seller))
  writeFileSync(config, readFileSync(config, 'utf8').replace('sqlite:g.db', url))
  let now = 0
  const clock = { now: () => now }
  const store = await openNode(t, url, { clock })
  const other = await openNode(t, url, { clock })
  const world = await beginYears(t, store, clock)
  const count = async () => (await listClosing(await store.records())).length
  for (const [index, month] of months.entries()) {
    now = noon(`${month}-05`)
    await liveMonth(t, world, month)
    if (index % 3 === 2) {
      const before = await count()
      const stop = stopBehind(index)
      await killWhileClosing(config, { month, line: `begin ${stop}`, stop })
      const first = (await count()) - before
      await killWhileClosing(config, { month, line: 'end 1', stop: 1 })
      const middle = (await count()) - before
      t.ok(
        first >= stop - 1 && middle > first,
        `${month}: killed while writing document ${stop}, and after a document`,
      )
      await closeAtOnce(t, [store, other], month)
      const whole = (await count()) - before
      t.ok(
        middle < whole,
        `${month}: both closes were killed in the middle, after ${first} and ${middle} of ${whole}`,
      )
      world.counts.killed += 2
    } else await closeAtOnce(t, [store, other], month)
    await reissue(world, month)
  }

  await checkYears(t, world)
  await checkThatNothingChanges(t, world)
})
