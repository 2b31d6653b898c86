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

/** How far an account may go below zero: the same rule as shipped, with smaller amounts. */
export const risk = { base: 3, ofPaid: 0.5, max: 40 }
export const riskRule: RiskRule = {
  baseMicros: roubles(risk.base),
  perRoubleMicros: roubles(risk.ofPaid),
  maxMicros: roubles(risk.max),
}

/** What the account must have, by elementary arithmetic. Amounts are whole roubles. */
export interface Model {
  /** The money that came in, less the costs of all exchanges. */
  net: number
  /** The part of it that counts as paid. */
  paidIn: number
  holds: ModelHold[]
  /** What open jobs hold. */
  jobs: ModelHold[]
  /** The amount paid for each. */
  charges: number[]
  overrun: number
  /** The cost of all exchanges of the key with a budget. */
  spent: number
}

/** The store under test, which many runs share, with an account of its own for each. */
export interface Real {
  store: StoreUnderTest
  readonly account: string
  readonly budgetKey: KeyRecord
  holds: Hold[]
  readonly jobs: Job[]
  /** Holds that are resolved: another charge or release of them must fail. */
  readonly resolved: Hold[]
}

export const sum = (amounts: readonly number[]): number =>
  amounts.reduce((total, amount) => total + amount, 0)
const open = (model: Readonly<Model>): ModelHold[] => [...model.holds, ...model.jobs]
const budgeted = (model: Readonly<Model>): ModelHold[] => open(model).filter(({ isBudgeted }) => isBudgeted)

export const held = (model: Readonly<Model>): number => sum(open(model).map(({ likely }) => likely))
export const worstHeld = (model: Readonly<Model>): number => sum(open(model).map(({ worst }) => worst))
/** The money that is not held; negative when something is owed. */
export const available = (model: Readonly<Model>): number => model.net - held(model)
export const debt = (model: Readonly<Model>): number => Math.max(0, held(model) - model.net)
export const riskLeft = (model: Readonly<Model>): number =>
  model.paidIn <= 0 ? 0 : Math.min(risk.base + risk.ofPaid * model.paidIn, risk.max)
/** The worst cases that may still be added: of the account, and of its key with a budget. */
export const worstLeft = (model: Readonly<Model>): number => model.net + riskLeft(model) - worstHeld(model)
export const budgetLeft = (model: Readonly<Model>): number =>
  budgetRoubles - model.spent - sum(budgeted(model).map(({ likely }) => likely))
export const budgetWorstLeft = (model: Readonly<Model>): number =>
  budgetRoubles - model.spent - sum(budgeted(model).map(({ worst }) => worst)) + riskLeft(model)

/** Pays the cost of an exchange, as far as there is money that no other hold has set aside. */
export function pay(model: Model, known: ModelHold, cost: number): number {
  const paid = Math.min(cost, Math.max(model.net, held(model) + known.likely) - held(model))
  model.net -= cost
  model.overrun += cost - paid
  model.charges.push(paid)
  if (known.isBudgeted) model.spent += cost
  return paid
}

/** Checks every invariant, in memory and on disk. Writes in progress may not be on disk yet. */
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

/** The reason of a rejection; undefined when the promise was fulfilled. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}

/** A step of a run. */
export type Command = fc.AsyncCommand<Model, Real>

/** A step and its description, which failures print. */
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
