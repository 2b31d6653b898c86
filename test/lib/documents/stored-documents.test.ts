import t from 'tap'
import { documentsContract } from '../../contracts/documents.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNew } from '../stores/open-store.ts'
import { openNode } from '../stores/open-postgres.ts'

await t.test('on SQLite', async t => {
  await documentsContract(t, openNew)
})

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)

  await documentsContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))
})
