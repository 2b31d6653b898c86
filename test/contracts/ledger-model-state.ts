import { deepStrictEqual } from 'node:assert/strict'
import type fc from 'fast-check'
import type { KeyRecord } from '../../lib/accounts/accounts.ts'
import type { Job } from '../../lib/ledger/job.ts'
import type { Hold } from '../../lib/ledger/ledger.ts'
import type { RiskRule } from '../../lib/ledger/risk.ts'
import { roubles } from './store-under-test.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export const startRoubles = 50
export const budgetRoubles = 40

export interface ModelHold {
  likely: number
  worst: number
  readonly isBudgeted: boolean
}

/** What an account may cost beyond its money: as shipped in kind, in smaller amounts. */
export const risk = { base: 3, ofPaid: 0.5, max: 40 }
export const riskRule: RiskRule = {
  baseMicros: roubles(risk.base),
  perRoubleMicros: roubles(risk.ofPaid),
  maxMicros: roubles(risk.max),
}

/** What the account must have, by arithmetic that a child could do. Amounts are whole roubles. */
export interface Model {
  /** What has come in, less all that exchanges have cost. */
  net: number
  /** What of what came in counts as paid. */
  paidIn: number
  holds: ModelHold[]
  /** What open jobs hold. */
  jobs: ModelHold[]
  /** What was paid for each. */
  charges: number[]
  overrun: number
  /** What exchanges of the key with a budget have cost. */
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
const open = (model: Readonly<Model>): ModelHold[] => [...model.holds, ...model.jobs]
const budgeted = (model: Readonly<Model>): ModelHold[] => open(model).filter(({ isBudgeted }) => isBudgeted)

export const held = (model: Readonly<Model>): number => sum(open(model).map(({ likely }) => likely))
export const worstHeld = (model: Readonly<Model>): number => sum(open(model).map(({ worst }) => worst))
/** What is not held; below nothing when something is owed. */
export const available = (model: Readonly<Model>): number => model.net - held(model)
export const debt = (model: Readonly<Model>): number => Math.max(0, held(model) - model.net)
export const riskLeft = (model: Readonly<Model>): number =>
  model.paidIn <= 0 ? 0 : Math.min(risk.base + risk.ofPaid * model.paidIn, risk.max)
/** What worst cases may still come to: of the account, and of its key with a budget. */
export const worstLeft = (model: Readonly<Model>): number => model.net + riskLeft(model) - worstHeld(model)
export const budgetLeft = (model: Readonly<Model>): number =>
  budgetRoubles - model.spent - sum(budgeted(model).map(({ likely }) => likely))
export const budgetWorstLeft = (model: Readonly<Model>): number =>
  budgetRoubles - model.spent - sum(budgeted(model).map(({ worst }) => worst)) + riskLeft(model)

/** Takes what an exchange has cost, as far as there is money that no other hold has set aside. */
export function pay(model: Model, known: ModelHold, cost: number): number {
  const paid = Math.min(cost, Math.max(model.net, held(model) + known.likely) - held(model))
  model.net -= cost
  model.overrun += cost - paid
  model.charges.push(paid)
  if (known.isBudgeted) model.spent += cost
  return paid
}

/** Every invariant, in memory and on the disk. What is on its way to the disk may not be there yet. */
export async function agree(model: Readonly<Model>, { store, account }: Readonly<Real>): Promise<void> {
  const expected = {
    balanceMicros: roubles(Math.max(model.net, held(model))),
    debtMicros: roubles(debt(model)),
    heldMicros: roubles(held(model)),
    worstMicros: roubles(worstHeld(model)),
    paidMicros: roubles(model.paidIn),
    riskMicros: roubles(riskLeft(model)),
    availableMicros: roubles(available(model)),
  }
  deepStrictEqual(await store.ledger.balance(account), expected)
  if (expected.debtMicros > 0 && expected.balanceMicros !== expected.heldMicros)
    throw new Error('something is owed while money is free')
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
