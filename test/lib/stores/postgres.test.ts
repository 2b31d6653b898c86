import t from 'tap'
import { ledgerModel } from '../../contracts/ledger-model.ts'
import { ledgerContract } from '../../contracts/ledger.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

await ledgerContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))

await t.test('whatever happens in whatever order, the ledger agrees with arithmetic', async t => {
  const open = async (): ReturnType<typeof openNode> =>
    openNode(t, await server.createDatabase(), { durability: 'relaxed' })
  const seed = process.env['MODEL_SEED'] === undefined ? undefined : Number(process.env['MODEL_SEED'])
  await ledgerModel(t, open, { runs: Number(process.env['MODEL_RUNS'] ?? 8), seed })
})
