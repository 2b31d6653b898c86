import t from 'tap'
import { deletionContract } from '../../contracts/account-deletion.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

await t.test('on SQLite', async t => {
  await deletionContract(t, openNew)
})

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)

  await deletionContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))
})
