import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import { AccountError } from '../../lib/accounts/accounts.ts'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import {
  BalanceInsufficientError,
  HoldResolvedError,
  KeyBudgetExceededError,
} from '../../lib/ledger/ledger.ts'
import type { Hold } from '../../lib/ledger/ledger.ts'
import { parseRoubles } from '../../lib/money/amount.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { until } from '../fixtures/until.ts'
import { endJob, openJob } from './ledger-model-jobs.ts'
import {
  agree,
  available,
  budgetLeft,
  budgetRoubles,
  budgetWorstLeft,
  command,
  failure,
  pay,
  riskLeft,
  startRoubles,
  sum,
  worstLeft,
} from './ledger-model-state.ts'
import type { Command, Model, ModelHold, Real } from './ledger-model-state.ts'
import { accountWith, chargeOf, roubles } from './store-under-test.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** The sums of a step: the likely cost, what the worst case adds, and what it adds without trust. */
interface Sums {
  readonly likely: number
  readonly more: number
  readonly untrusted: number
}

const micros = (likely: number, worst: number) => ({
  likelyMicros: roubles(likely),
  worstMicros: roubles(worst),
})

/** A refusal must have its reason, and an admission must have none. */
async function admits(
  placed: Promise<unknown>,
  { isPoor, isBeyond }: { readonly isPoor: boolean; readonly isBeyond: boolean },
): Promise<boolean> {
  if (!isPoor && !isBeyond) {
    await placed
    return true
  }
  const error = await failure(placed)
  const isExpected =
    (isPoor && error instanceof BalanceInsufficientError) ||
    (isBeyond && error instanceof KeyBudgetExceededError)
  if (!isExpected) throw new Error('more was held than there is', { cause: error })
  return false
}

function place({ likely, more, untrusted }: Sums, isBudgeted: boolean): Command {
  const words = `hold ${likely}, ${likely + more} at worst, ${likely + more + untrusted} without trust`
  return command(`${words}${isBudgeted ? ', of the budget' : ''}`, async (model, real) => {
    const { id, budgetMicros = 0 } = real.budgetKey
    const placed = (async () =>
      await real.store.ledger.placeHold({
        exchangeId: newId(),
        sequence: 0,
        accountId: real.account,
        keyId: isBudgeted ? id : 'key',
        ...micros(likely, likely + more),
        strictMicros: roubles(likely + more + untrusted),
        ...(isBudgeted && { budget: { budgetMicros, period: 'total' as const } }),
      }))()
    const worst = likely + more + (riskLeft(model) === 0 ? untrusted : 0)
    const isAdmitted = await admits(placed, {
      isPoor: worst > 0 && (likely > available(model) || worst > worstLeft(model)),
      isBeyond: isBudgeted && worst > 0 && (likely > budgetLeft(model) || worst > budgetWorstLeft(model)),
    })
    if (!isAdmitted) return
    const hold = await placed
    if (hold.worstMicros !== roubles(worst)) throw new Error(`the worst case is ${hold.worstMicros}`)
    real.holds.push(hold)
    model.holds.push({ likely, worst, isBudgeted })
  })
}

/** Raises a hold to totals, which may be below what it has. */
function grow(pick: number, likely: number, more: number): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    const hold = real.holds[pick % real.holds.length]
    const known = model.holds[pick % model.holds.length]
    if (hold === undefined || known === undefined) throw new Error('the model and the store differ')
    const rise = Math.max(0, likely + more - known.worst)
    const growing = (async () => await real.store.ledger.growHold(hold, micros(likely, likely + more)))()
    const isAdmitted = await admits(growing, {
      isPoor: rise > 0 && rise > worstLeft(model),
      isBeyond: known.isBudgeted && rise > 0 && rise > budgetWorstLeft(model),
    })
    if (!isAdmitted) return
    const room = Math.min(available(model), known.isBudgeted ? budgetLeft(model) : Infinity)
    known.likely += Math.max(0, Math.min(likely - known.likely, room))
    known.worst += rise
    const { likelyMicros, worstMicros } = hold
    deepStrictEqual({ likelyMicros, worstMicros }, micros(known.likely, known.worst))
  }
  return command(`raise hold ${pick} to ${likely}, ${likely + more} at worst`, run, hasHold)
}

const hasHold = (model: Readonly<Model>): boolean => model.holds.length > 0

/** Removes a hold from both lists. */
function takeHold(
  pick: number,
  model: Model,
  real: Real,
): { readonly hold: Hold; readonly known: ModelHold } {
  const index = pick % model.holds.length
  const [hold] = real.holds.splice(index, 1)
  const [known] = model.holds.splice(index, 1)
  if (hold === undefined || known === undefined) throw new Error('the model and the store differ')
  real.resolved.push(hold)
  return { hold, known }
}

function charge(pick: number, cost: number): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    const { hold, known } = takeHold(pick, model, real)
    const paid = pay(model, known, cost)
    const result = await real.store.ledger.charge(hold, chargeOf({ input: cost }))
    if (result.amountMicros !== roubles(paid) || result.overrunMicros !== roubles(cost - paid)) {
      throw new Error(`paid ${result.amountMicros}, overrun ${result.overrunMicros}`)
    }
  }
  return command(`charge ${cost} to hold ${pick}`, run, hasHold)
}

function release(pick: number): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    await real.store.ledger.release(takeHold(pick, model, real).hold)
  }
  return command(`release hold ${pick}`, run, hasHold)
}

function resolveAgain(pick: number, isCharge: boolean): Command {
  return command(`${isCharge ? 'charge' : 'release'} what is resolved`, async (_, { store, resolved }) => {
    const hold = resolved[pick % resolved.length]
    if (hold === undefined) return
    const again = isCharge ? store.ledger.charge(hold, chargeOf({ input: 1 })) : store.ledger.release(hold)
    const error = await failure(again)
    if (!(error instanceof HoldResolvedError)) throw new Error(`a hold was resolved twice: ${String(error)}`)
  })
}

type Source = 'payment' | 'operator' | 'starting'

function credit(amount: number, source: Source, isRepeated: boolean): Command {
  return command(`credit ${amount} (${source})${isRepeated ? ' twice over' : ''}`, async (model, real) => {
    const once = {
      accountId: real.account,
      amountMicros: roubles(amount),
      reason: 'test',
      idempotencyKey: newId(),
      source,
    }
    const results = [real.store.accounts.credit(once)]
    if (isRepeated) results.push(real.store.accounts.credit(once))
    await Promise.all(results)
    model.net += amount
    if (source !== 'starting') model.paidIn += amount
  })
}

function debit(amount: number, source: Source, isRepeated: boolean): Command {
  return command(`debit ${amount} (${source})${isRepeated ? ' twice over' : ''}`, async (model, real) => {
    const once = {
      accountId: real.account,
      amountMicros: roubles(amount),
      reason: 'test',
      idempotencyKey: newId(),
      source,
    }
    const after = {
      ...model,
      net: model.net - amount,
      paidIn: model.paidIn - (source === 'starting' ? 0 : amount),
    }
    const error = await failure(real.store.accounts.debit(once))
    if (available(after) < 0 || worstLeft(after) < 0) {
      if (!(error instanceof AccountError))
        throw new Error('money was taken out that was held', { cause: error })
      return
    }
    if (error !== undefined) throw new Error('money could not be taken out', { cause: error })
    model.net = after.net
    model.paidIn = after.paidIn
    // A repetition moves no money, and needs none.
    if (isRepeated) await real.store.accounts.debit(once)
  })
}

function restart(): Command {
  return command('restart', async (model, real) => {
    real.store = await real.store.restart()
    const { length } = real.store.recovery.releasedHolds
    if (length !== model.holds.length) throw new Error(`recovery listed ${length} holds`)
    real.holds = []
    model.holds = []
    // Holds of a closed store belong to no store.
    real.resolved.length = 0
  })
}

const amount = fc.integer({ min: 0, max: 30 })
const more = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 }))
const sums: fc.Arbitrary<Sums> = fc.record({ likely: amount, more, untrusted: more })
const pick = fc.nat(9)
const moved = fc.tuple(
  fc.integer({ min: 1, max: 30 }),
  fc.constantFrom<Source>('payment', 'operator', 'starting'),
  fc.boolean(),
)
const steps = [
  { weight: 30, arbitrary: fc.tuple(sums, fc.boolean()).map(([roubles, is]) => place(roubles, is)) },
  { weight: 12, arbitrary: fc.tuple(pick, amount, more).map(step => grow(...step)) },
  { weight: 25, arbitrary: fc.tuple(pick, amount).map(([index, cost]) => charge(index, cost)) },
  { weight: 10, arbitrary: pick.map(index => release(index)) },
  { weight: 5, arbitrary: fc.tuple(pick, fc.boolean()).map(([index, is]) => resolveAgain(index, is)) },
  { weight: 8, arbitrary: pick.map(index => openJob(index)) },
  {
    weight: 8,
    arbitrary: fc.tuple(pick, fc.option(amount)).map(([index, cost]) => endJob(index, cost ?? undefined)),
  },
  { weight: 10, arbitrary: moved.map(step => credit(...step)) },
  { weight: 4, arbitrary: moved.map(step => debit(...step)) },
  { weight: 1, arbitrary: fc.constant(restart()) },
]

/** Compares the disk at the end of a run with the model. */
async function compareCharges(model: Readonly<Model>, { store, account, budgetKey }: Real): Promise<void> {
  // A write that is awaited comes after all earlier ones, except releases on PostgreSQL.
  await store.accounts.createKey({ accountId: account })
  await until(async () => (await store.reports.keyBudget(budgetKey))?.heldMicros === 0)
  const charges = await store.charges(account)
  const paid = charges.map(one => parseRoubles(one.amount)).join()
  if (paid !== model.charges.map(roubles).join()) throw new Error(`the charges are ${paid}`)
  const overrun = sum(charges.map(one => Number(one.overrun ?? 0)))
  if (overrun !== model.overrun) throw new Error(`the overrun is ${overrun}, not ${model.overrun}`)
  const budget = await store.reports.keyBudget(budgetKey)
  if (budget?.spentMicros !== roubles(model.spent)) {
    throw new Error(`the key has spent ${budget?.spentMicros}, not ${roubles(model.spent)}`)
  }
  await agree(model, { store, account, budgetKey, holds: [], jobs: [], resolved: [] })
}

export interface LedgerModelOptions {
  readonly runs: number
  /** Repeats an earlier test; fast-check prints the seed with a failure. */
  readonly seed?: number | undefined
}

/** How many runs use one store before a new one is opened: each step reads the whole store. */
const runsPerStore = 20

/**
 * Drives a store by random steps and compares it with arithmetic, and with its own invariants, after every
 * step. A failure prints the seed and the steps. `open` creates a new, empty store; it may be a relaxed one,
 * which is faster and keeps more in memory that is not on disk yet.
 */
export async function ledgerModel(
  t: Test,
  open: (t: Test) => Promise<StoreUnderTest>,
  { runs, seed }: LedgerModelOptions,
): Promise<void> {
  let store: StoreUnderTest | undefined
  let runsLeft = 0
  const next = async (): Promise<StoreUnderTest> => {
    if (store === undefined || runsLeft === 0) {
      await store?.close()
      store = await open(t)
      runsLeft = runsPerStore
    }
    runsLeft -= 1
    return store
  }
  const property = fc.asyncProperty(
    fc.commands([fc.oneof(...steps)], { size: 'large', maxCommands: 40 }),
    async commands => {
      const begun = await next()
      const account = await accountWith(begun, startRoubles)
      const { key } = await begun.accounts.createKey({
        accountId: account,
        budgetMicros: roubles(budgetRoubles),
      })
      const budgetKey = begun.keys.findByDigest(keyDigest(key))
      if (budgetKey === undefined) throw new Error('the key is not found')
      const real: Real = { store: begun, account, budgetKey, holds: [], jobs: [], resolved: [] }
      const model: Model = {
        net: startRoubles,
        paidIn: startRoubles,
        holds: [],
        jobs: [],
        charges: [],
        overrun: 0,
        spent: 0,
      }
      await fc.asyncModelRun(() => ({ model, real }), commands)
      store = real.store
      for (const hold of real.holds) await store.ledger.release(hold)
      for (const job of real.jobs) await store.ledger.releaseJob(job)
      model.holds = []
      model.jobs = []
      await compareCharges(model, real)
    },
  )
  await fc.assert(property, { numRuns: runs, endOnFailure: true, ...(seed === undefined ? {} : { seed }) })
}
