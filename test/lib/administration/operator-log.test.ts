import t from 'tap'
import { actionStep, findActions, readActions } from '../../../lib/administration/operator-log.ts'
import { operatorActsContract } from '../../contracts/operator-acts.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNew } from '../stores/open-store.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'

await t.test('pages of the log contain each action once, also actions of the same moment', async t => {
  const records = await (await openNew(t)).records()
  const did = { operator: 'olga', action: 'credit', accountId: 'a', reason: 'r' } as const
  for (const at of [1, 1, 1, 2, 2, 3]) await records.write([actionStep(records, { ...did, at })])

  const all = await readActions(records, { limit: 10 })
  t.same(
    all.map(({ at }) => at),
    [3, 2, 2, 1, 1, 1],
  )
  const page = async (isDescending: boolean, offset: number) =>
    (await findActions(records, { isDescending, limit: 2, offset, filters: {} })).map(({ id }) => id)
  for (const isDescending of [true, false]) {
    const ids = all.map(({ id }) => id)
    t.same(
      (await Promise.all([0, 2, 4, 6].map(offset => page(isDescending, offset)))).flat(),
      isDescending ? ids : ids.toReversed(),
    )
  }
  t.same(await readActions(records, { limit: 1, accountId: 'b' }), [])
})

await t.test('actions of the log cannot be replaced or deleted', async t => {
  const records = await (await openNew(t)).records()
  const did = { operator: 'olga', action: 'debit', accountId: 'a', reason: 'r', at: 1 } as const
  await records.write([actionStep(records, did, 'one')])

  await t.rejects(records.write([actionStep(records, did, 'one')]), { name: 'RecordConflictError' })
  const { build } = records
  await t.rejects(records.write([{ write: build.deleteFrom('operator_actions') }]))
  t.equal((await readActions(records, { limit: 10 })).length, 1)
})

await t.test('on SQLite', async t => {
  await operatorActsContract(t, openNew)
})

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)
  await operatorActsContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))
})
