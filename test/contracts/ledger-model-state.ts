import type fc from 'fast-check'
import type { KeyRecord } from '../../lib/accounts/accounts.ts'
import type { Job } from '../../lib/jobs/job.ts'
import type { Hold } from '../../lib/ledger/ledger.ts'
import { roubles } from './store-under-test.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const startRoubles = 50
export const budgetRoubles = 40

export interface ModelHold {
  readonly amount: number
  readonly isBudgeted: boolean
}

/** What the account must have, by arithmetic that a child could do. Amounts are whole roubles. */
export interface Model {
  balance: number
  holds: ModelHold[]
  /** What open jobs hold. */
  jobs: ModelHold[]
  charges: number[]
  overrun: number
  /** What the key with a budget has spent. */
  spent: number
}

/** The real thing: a store that many runs share, an account of its own for each. */
export interface Real {
  store: StoreUnderTest
  readonly account: string
  readonly budgetKey: KeyRecord
  holds: Hold[]
  readonly jobs: Job[]
  /** Resolved already: whatever is tried with them must fail. */
  readonly resolved: Hold[]
}

export const sum = (amounts: readonly number[]): number =>
  amounts.reduce((total, amount) => total + amount, 0)
export const available = (model: Readonly<Model>): number =>
  model.balance - sum([...model.holds, ...model.jobs].map(hold => hold.amount))
/** A charge above its hold may go beyond the budget; then nothing is left, and a hold of nothing still fits. */
export const budgetLeft = (model: Readonly<Model>): number =>
  Math.max(
    0,
    budgetRoubles -
      model.spent -
      sum([...model.holds, ...model.jobs].map(hold => (hold.isBudgeted ? hold.amount : 0))),
  )

/** Every invariant, in memory and on the disk. What is on its way to the disk may not be there yet. */
export async function agree(model: Readonly<Model>, { store, account }: Readonly<Real>): Promise<void> {
  const { balanceMicros, heldMicros, availableMicros } = await store.ledger.balance(account)
  const expected = [model.balance, model.balance - available(model), available(model)].map(roubles).join()
  const found = [balanceMicros, heldMicros, availableMicros].join()
  if (found !== expected) throw new Error(`expected ${expected}, found ${found}`)
  if (availableMicros < 0) throw new Error('money was held twice')
  const breaches = await store.verify()
  if (breaches.length > 0) throw new Error(breaches.join('; '))
}

/** Why a promise was rejected; undefined when it was fulfilled. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}

/** A step of a run. */
export type Command = fc.AsyncCommand<Model, Real>

/** A step and its words, by which a failure is told. */
export function command(
  words: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): Command {
  return {
    check,
    async run(model, real) {
      await run(model, real)
      await agree(model, real)
    },
    toString: () => words,
  }
}
