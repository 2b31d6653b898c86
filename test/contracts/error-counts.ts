import type { Test } from 'tap'
import { ErrorCounts } from '../../lib/observability/error-counts.ts'
import { addErrorCounts, readErrorCounts } from '../../lib/stores/records/error-count-table.ts'
import { until } from '../fixtures/until.ts'
import type { OpenStore } from './store-under-test.ts'

const day = 86_400_000
const noon = 20_000 * day + day / 2

/** The contract of error counts by code, on every store. */
export async function errorCountsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('errors of several processes are summed by code, from a time on', async t => {
    const records = await (await open(t)).records()
    const one = (at: number, code: string, count: number) => ({ at, code, count })

    await Promise.all([
      addErrorCounts(records, [one(noon, 'rate_limited', 2), one(noon, 'key_invalid', 1)]),
      addErrorCounts(records, [one(noon, 'key_invalid', 4), one(noon, 'rate_limited', 1)]),
      addErrorCounts(records, [one(noon - day, 'key_invalid', 100)]),
    ])

    t.same(await readErrorCounts(records, noon), [
      { code: 'key_invalid', count: 5 },
      { code: 'rate_limited', count: 3 },
    ])
    t.same(await readErrorCounts(records, noon + 1), [])
    t.equal((await readErrorCounts(records, 0))[0]?.count, 105)
    await addErrorCounts(records, [one(noon + 8 * day, 'key_invalid', 1)])
    t.same(await readErrorCounts(records, 0), [
      { code: 'key_invalid', count: 6 },
      { code: 'rate_limited', count: 3 },
    ])
  })

  await t.test('errors are buffered, and written when the process ends', async t => {
    const records = await (await open(t)).records()
    const written: number[] = []
    const counts = new ErrorCounts({
      clock: { now: () => noon },
      log: { error: () => void t.fail('nothing fails') },
      gatherMs: 5,
      async write(gathered) {
        written.push(gathered.length)
        await addErrorCounts(records, gathered)
      },
    })

    for (let index = 0; index < 1000; index += 1)
      counts.note([{ at: noon + 7, code: 'overloaded', count: 1 }])
    await until(() => written.length > 0)
    counts.note([{ at: noon + 8, code: 'overloaded', count: 2 }])
    await counts.close()
    counts.note([{ at: noon + 9, code: 'overloaded', count: 4 }])
    await counts.close()

    t.same(await readErrorCounts(records, noon), [{ code: 'overloaded', count: 1002 }])
    t.same(written, [1, 1])
  })
}
