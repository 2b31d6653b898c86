import t from 'tap'
import { listClosing } from '../../../lib/documents/closing-documents.ts'
import { runGateway, writeConfig } from '../../cli/run-gateway.ts'
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
import { openFile } from '../stores/open-store.ts'

await t.test('three years of documents agree with the ledger, with killed closes, on SQLite', async t => {
  const { config, store: file } = writeConfig(t.testdir(), sellerYaml(seller))
  let now = 0
  const clock = { now: () => now }
  let store = await openFile(t, file, { clock })
  let world = await beginYears(t, store, clock)
  for (const [index, month] of months.entries()) {
    now = noon(`${month}-05`)
    await liveMonth(t, world, month)
    if (index % 3 === 2) {
      const before = (await listClosing(await store.records())).length
      const stop = stopBehind(index)
      await store.close()
      // Killed once while writing a document, which then exists or does not, and once after a document.
      await killWhileClosing(config, { month, line: `begin ${stop}`, stop })
      store = await openFile(t, file, { clock })
      const first = (await listClosing(await store.records())).length - before
      t.ok(
        first === stop - 1 || first === stop,
        `${month}: killed while writing document ${stop}, ${first} exist`,
      )
      await store.close()
      await killWhileClosing(config, { month, line: 'end 1', stop: 1 })
      store = await openFile(t, file, { clock })
      const middle = (await listClosing(await store.records())).length - before
      t.equal(middle, first + 1, `${month}: killed after a document`)
      await store.close()
      const { code, stdout, stderr } = await runGateway([
        'documents',
        'close',
        '--month',
        month,
        '--config',
        config,
      ])
      t.equal(code, 0, stderr)
      t.match(stdout, `closed ${month}: `, 'the killed closes did not close the month')
      store = await openFile(t, file, { clock })
      world = { ...world, store }
      const whole = (await listClosing(await store.records())).length - before
      t.ok(
        middle < whole,
        `${month}: both closes were killed in the middle, after ${first} and ${middle} of ${whole}`,
      )
      world.counts.killed += 2
    } else await closeAtOnce(t, [store, store], month)
    await reissue(world, month)
  }

  await checkYears(t, world)
  await checkThatNothingChanges(t, world)
})
