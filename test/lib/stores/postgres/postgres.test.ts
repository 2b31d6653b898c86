import t from 'tap'
import { ledgerModel } from '../../../contracts/ledger-model.ts'
import { riskRule } from '../../../contracts/ledger-model-state.ts'
import { ledgerContract } from '../../../contracts/ledger.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

await ledgerContract(t, async (t, options) => openNode(t, await server.createDatabase(), options))

/** A run takes about 0.4 seconds, five times as long as on SQLite. `npm run test:model` sets 10,000. */
const runs = Number(process.env['POSTGRES_MODEL_RUNS'] ?? 8)

await t.test('the ledger agrees with arithmetic after any sequence of operations', async t => {
  const open = async (): ReturnType<typeof openNode> =>
    openNode(t, await server.createDatabase(), { durability: 'relaxed', riskRule: () => riskRule })
  const seed = process.env['MODEL_SEED'] === undefined ? undefined : Number(process.env['MODEL_SEED'])
  await ledgerModel(t, open, { runs, seed })
})
