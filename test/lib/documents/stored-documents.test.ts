import t from 'tap'
import { accountingContract } from '../../contracts/accounting.ts'
import { badStatementsContract } from '../../contracts/bad-statements.ts'
import { closingContract } from '../../contracts/closing.ts'
import { documentsContract } from '../../contracts/documents.ts'
import type { OpenStore } from '../../contracts/store-under-test.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNew } from '../stores/open-store.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'

await t.test('on SQLite', async t => {
  await documentsContract(t, openNew)
  await closingContract(t, openNew)
  await accountingContract(t, openNew)
  await badStatementsContract(t, openNew)
})

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)

  const open: OpenStore = async (t, options) => openNode(t, await server.createDatabase(), options)
  await documentsContract(t, open)
  await closingContract(t, open)
  await accountingContract(t, open)
  await badStatementsContract(t, open)
})
