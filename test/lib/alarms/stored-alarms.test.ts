import t from 'tap'
import { alarmMessagesContract } from '../../contracts/alarm-messages.ts'
import { alarmsContract } from '../../contracts/alarms.ts'
import type { OpenStore } from '../../contracts/store-under-test.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from '../stores/postgres/open-postgres.ts'
import { openNew } from '../stores/open-store.ts'

await t.test('on SQLite', async t => {
  await alarmsContract(t, openNew)
  await alarmMessagesContract(t, openNew)
})

await t.test('on PostgreSQL', async t => {
  const server = await startPostgres(t)

  const open: OpenStore = async (t, options) => openNode(t, await server.createDatabase(), options)
  await alarmsContract(t, open)
  await alarmMessagesContract(t, open)
})
