import t from 'tap'
import { ledgerContract } from '../../contracts/ledger.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

await ledgerContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))
