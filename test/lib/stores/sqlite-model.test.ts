import fc from 'fast-check'
import t from 'tap'
import { BalanceInsufficientError } from '../../../lib/ledger/ledger.ts'
import type { Hold } from '../../../lib/ledger/ledger.ts'
import { parseRoubles } from '../../../lib/money/amount.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../contracts/store-under-test.ts'
import { openNew } from './open-store.ts'
import type { OpenedStore } from './open-store.ts'

/** What the account must have, by arithmetic that a child could do. Amounts are whole roubles. */
interface Model {
  balance: number
  holds: number[]
  charges: number[]
  overrun: number
}

/** The real thing: one store for all runs, an account for each. */
interface Real {
  store: OpenedStore
  account: string
  holds: Hold[]
}

const available = (model: Readonly<Model>): number =>
  model.balance - model.holds.reduce((sum, hold) => sum + hold, 0)

async function agree(model: Readonly<Model>, real: Real): Promise<void> {
  const balance = await real.store.ledger.balance(real.account)
  const expected = [roubles(model.balance), roubles(available(model))]
  const found = [balance.balanceMicros, balance.availableMicros]
  if (found.join() !== expected.join()) throw new Error(`expected ${expected.join()}, found ${found.join()}`)
  if (balance.availableMicros < 0) throw new Error('money was held twice')
}

type Command = fc.AsyncCommand<Model, Real>

class PlaceHold implements Command {
  readonly amount: number

  constructor(amount: number) {
    this.amount = amount
  }

  check = (): boolean => true

  async run(model: Model, real: Real): Promise<void> {
    const placed = holdOf(real.store, real.account, this.amount)
    if (this.amount <= available(model)) {
      real.holds.push(await placed)
      model.holds.push(this.amount)
    } else {
      const error: unknown = await placed.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (!(error instanceof BalanceInsufficientError))
        throw new Error('a hold beyond the balance was placed')
    }
    await agree(model, real)
  }

  toString = (): string => `hold ${this.amount}`
}

class Charge implements Command {
  readonly pick: number
  readonly cost: number

  constructor(pick: number, cost: number) {
    this.pick = pick
    this.cost = cost
  }

  check = (model: Readonly<Model>): boolean => model.holds.length > 0

  async run(model: Model, real: Real): Promise<void> {
    const index = this.pick % model.holds.length
    const [hold] = real.holds.splice(index, 1)
    if (hold === undefined) throw new Error('the model has a hold that the store has not')
    model.holds.splice(index, 1)
    const paid = Math.min(this.cost, available(model))
    model.balance -= paid
    model.overrun += this.cost - paid
    model.charges.push(paid)
    const result = await real.store.ledger.charge(hold, chargeOf({ input: this.cost }))
    if (result.amountMicros !== roubles(paid) || result.overrunMicros !== roubles(this.cost - paid)) {
      throw new Error(`paid ${result.amountMicros}, overrun ${result.overrunMicros}`)
    }
    await agree(model, real)
  }

  toString = (): string => `charge ${this.cost} to hold ${this.pick}`
}

class Release implements Command {
  readonly pick: number

  constructor(pick: number) {
    this.pick = pick
  }

  check = (model: Readonly<Model>): boolean => model.holds.length > 0

  async run(model: Model, real: Real): Promise<void> {
    const index = this.pick % model.holds.length
    const [hold] = real.holds.splice(index, 1)
    if (hold === undefined) throw new Error('the model has a hold that the store has not')
    model.holds.splice(index, 1)
    await real.store.ledger.release(hold)
    await agree(model, real)
  }

  toString = (): string => `release hold ${this.pick}`
}

class Credit implements Command {
  readonly amount: number

  constructor(amount: number) {
    this.amount = amount
  }

  check = (): boolean => true

  async run(model: Model, real: Real): Promise<void> {
    await real.store.accounts.credit({
      accountId: real.account,
      amountMicros: roubles(this.amount),
      reason: 'test',
    })
    model.balance += this.amount
    await agree(model, real)
  }

  toString = (): string => `credit ${this.amount}`
}

class Restart implements Command {
  check = (): boolean => true

  async run(model: Model, real: Real): Promise<void> {
    real.store = await real.store.restart()
    if (real.store.recovery.releasedHolds.length !== model.holds.length) {
      throw new Error('recovery listed other holds than were open')
    }
    real.holds = []
    model.holds = []
    await agree(model, real)
  }

  toString = (): string => 'restart'
}

const amount = fc.integer({ min: 0, max: 30 })
const pick = fc.nat(9)
const step = fc.oneof(
  { weight: 30, arbitrary: amount.map(roubles => new PlaceHold(roubles)) },
  { weight: 25, arbitrary: fc.tuple(pick, amount).map(([index, cost]) => new Charge(index, cost)) },
  { weight: 10, arbitrary: pick.map(index => new Release(index)) },
  { weight: 10, arbitrary: fc.integer({ min: 1, max: 30 }).map(roubles => new Credit(roubles)) },
  { weight: 1, arbitrary: fc.constant(new Restart()) },
)

await t.test('whatever happens in whatever order, the ledger agrees with arithmetic', async t => {
  let runs = 0
  let store = await openNew(t, { durability: 'relaxed' })
  await fc.assert(
    fc.asyncProperty(fc.commands([step], { size: 'large', maxCommands: 40 }), async commands => {
      const real: Real = { store, account: await accountWith(store, 50), holds: [] }
      const model: Model = { balance: 50, holds: [], charges: [], overrun: 0 }
      await fc.asyncModelRun(() => ({ model, real }), commands)
      for (const hold of real.holds) await real.store.ledger.release(hold)
      store = real.store
      // A change that is waited for comes after everything that was not.
      await store.accounts.createKey({ accountId: real.account })
      const charges = await store.charges(real.account)
      const paid = charges.map(charge => charge.amount).join()
      if (paid !== model.charges.map(cost => `${cost}.000000`).join())
        throw new Error(`the charges are ${paid}`)
      const overrun = charges.reduce((sum, charge) => sum + Number(charge.overrun ?? 0), 0)
      if (overrun !== model.overrun) throw new Error(`the overrun is ${overrun}, not ${model.overrun}`)
      runs += 1
      const breaches = runs % 10 === 0 ? await store.verify() : []
      if (breaches.length > 0) throw new Error(breaches.join('; '))
    }),
    { numRuns: 150, endOnFailure: true },
  )
})

await t.test('exchanges at the same time never spend money twice, nor lose any', async t => {
  const store = await openNew(t)
  const exchange = fc.record({
    hold: fc.integer({ min: 0, max: 20 }),
    cost: fc.option(amount),
    turns: fc.nat(5),
  })
  const concurrent = fc.asyncProperty(
    fc.array(exchange, { minLength: 20, maxLength: 60 }),
    async exchanges => {
      const account = await accountWith(store, 100)
      let paid = 0
      await Promise.all(
        exchanges.map(async ({ hold: held, cost, turns }) => {
          const placed = await holdOf(store, account, held).catch((error: unknown) => {
            if (error instanceof BalanceInsufficientError) return undefined
            throw error
          })
          if (placed === undefined) return
          // Some wait for the disk, some are charged while their hold is still on its way there.
          for (let turn = 0; turn < turns; turn += 1) await placed.durable
          if (cost === null) return store.ledger.release(placed)
          const result = await store.ledger.charge(placed, chargeOf({ input: cost }))
          paid += result.amountMicros
        }),
      )
      const expected = roubles(100) - paid
      const { balanceMicros, heldMicros } = await store.ledger.balance(account)
      if (balanceMicros !== expected || heldMicros !== 0) throw new Error(`${balanceMicros}, not ${expected}`)
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
