import t from 'tap'
import { ErrorCounts } from '../../../lib/observability/error-counts.ts'
import { LedgerUnavailableError } from '../../../lib/ledger/ledger.ts'
import type { ErrorCount } from '../../../lib/stores/records/error-count-table.ts'
import { errorCountsContract } from '../../contracts/error-counts.ts'
import type { OpenStore } from '../../contracts/store-under-test.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

await t.test('on SQLite', t => errorCountsContract(t, openNew))

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const open: OpenStore = async (t, options) => openNode(t, await server.createDatabase(), options)
  await errorCountsContract(t, open)
})

await t.test('counts that the store cannot write wait, and are written once later', async t => {
  const errors: unknown[] = []
  const written: ErrorCount[] = []
  const failures: Error[] = [new LedgerUnavailableError('it is locked'), new Error('no space is left')]
  const counts = new ErrorCounts({
    clock: { now: () => 0 },
    log: { error: facts => void errors.push(facts) },
    write(gathered) {
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      written.push(...gathered)
    },
  })
  const one = { at: 900_001, code: 'rate_limited', count: 1 }

  counts.note([one])
  await counts.close()
  await counts.close()
  t.same(written, [])
  t.equal(errors.length, 1, 'an unavailable store is not logged here, since other parts log it')
  await counts.close()

  t.same(written, [{ at: 900_000, code: 'rate_limited', count: 1 }])
})

await t.test('more than 500 codes share one count beyond the first 500', async t => {
  const written: ErrorCount[] = []
  const counts = new ErrorCounts({
    clock: { now: () => 0 },
    log: { error: () => void t.fail('nothing fails') },
    write: gathered => void written.push(...gathered),
  })

  for (let index = 0; index < 3000; index += 1) counts.note([{ at: 0, code: `own-${index}`, count: 1 }])
  await counts.close()

  t.equal(written.length, 501)
  t.match(written.at(-1), { code: 'others', count: 2500 })
})
