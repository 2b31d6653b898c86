import fc from 'fast-check'
import t from 'tap'
import { BalanceInsufficientError } from '../../../../lib/ledger/ledger.ts'
import { parseRoubles } from '../../../../lib/money/amount.ts'
import { ledgerModel } from '../../../contracts/ledger-model.ts'
import { riskRule } from '../../../contracts/ledger-model-state.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import { openNew } from '../open-store.ts'

/** `npm run test:model` sets 10,000. */
const runs = Number(process.env['MODEL_RUNS'] ?? 40)
const seed = process.env['MODEL_SEED'] === undefined ? undefined : Number(process.env['MODEL_SEED'])
const amount = fc.integer({ min: 0, max: 30 })

await t.test(
  `the ledger agrees with arithmetic after any sequence of operations: ${runs} runs`,
  { timeout: 60_000 + runs * 1_000 },
  async t => {
    await ledgerModel(t, t => openNew(t, { durability: 'relaxed', riskRule: () => riskRule }), { runs, seed })
  },
)

await t.test('concurrent exchanges never spend money twice and lose none', async t => {
  const store = await openNew(t)
  const exchange = fc.record({
    hold: fc.integer({ min: 0, max: 20 }),
    cost: fc.option(amount),
    ticks: fc.nat(5),
  })
  const concurrent = fc.asyncProperty(
    fc.array(exchange, { minLength: 20, maxLength: 60 }),
    async exchanges => {
      const account = await accountWith(store, 100)
      let paid = 0
      let cost = 0
      await Promise.all(
        exchanges.map(async ({ hold: held, cost: used, ticks }) => {
          const placed = await holdOf(store, account, held).catch((error: unknown) => {
            if (error instanceof BalanceInsufficientError) return undefined
            throw error
          })
          if (placed === undefined) return
          // Some wait for the disk, and some are charged before their hold is durable.
          for (let tick = 0; tick < ticks; tick += 1) await placed.durable
          if (used === null) return store.ledger.release(placed)
          const result = await store.ledger.charge(placed, chargeOf({ input: used }))
          paid += result.amountMicros
          cost += roubles(used)
        }),
      )
      const { balanceMicros, debtMicros, heldMicros } = await store.ledger.balance(account)
      const net = balanceMicros - debtMicros
      if (net !== roubles(100) - cost || heldMicros !== 0 || Math.min(balanceMicros, debtMicros) !== 0)
        throw new Error(`${balanceMicros}, of which ${debtMicros} are owed, after ${cost}`)
      const onDisk = (await store.charges(account)).reduce(
        (sum, charge) => sum + parseRoubles(charge.amount),
        0,
      )
      if (onDisk !== paid) throw new Error(`on the disk ${onDisk}, paid ${paid}`)
    },
  )
  await fc.assert(concurrent, { numRuns: 40, endOnFailure: true })
  t.strictSame(await store.verify(), [])
  const again = await store.restart()
  t.strictSame(again.recovery.releasedHolds, [], 'every release reached the disk')
})
