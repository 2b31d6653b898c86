import type { Config } from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { BalanceInsufficientError, KeyBudgetExceededError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Balance, Hold, Ledger, Micros } from '../ledger/ledger.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { exchangeCost, type CostBasis } from './exchange-cost.ts'
import { waysToFit, type Admitted } from './ways-to-fit.ts'
import type { UsualOutputs } from './usual-outputs.ts'

declare module '../pipeline/facts.ts' {
  interface Facts {
    hold: Hold
  }
}

interface HoldContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly usualOutputs: UsualOutputs
}

/** What an exchange's cost is worked out from. */
export function costBasisOf(
  exchange: Exchange,
  { config, usualOutputs }: Omit<HoldContext, 'ledger'>,
): CostBasis {
  const target = exchange.get('target')
  return {
    target,
    facts: exchange.get('request'),
    hold: config.hold,
    usualOutputTokens: usualOutputs.ofAccount(exchange.get('key').accountId, target.modelName)?.output,
  }
}

/**
 * Sets aside what the exchange is likely to cost, where its worst fits too.
 * @throws GatewayError balance_insufficient with what would fit, key_budget_exceeded, overloaded when the
 * ledger cannot write
 */
export function placeHold(exchange: Exchange, context: HoldContext): Hold | Promise<Hold> {
  const key = exchange.get('key')
  const basis = costBasisOf(exchange, context)
  try {
    const hold = context.ledger.placeHold({
      exchangeId: exchange.id,
      sequence: 0,
      accountId: key.accountId,
      keyId: key.id,
      ...exchangeCost(basis),
      ...(key.budgetMicros === undefined
        ? {}
        : { budget: { budgetMicros: key.budgetMicros, period: key.budgetPeriod ?? 'total' } }),
    })
    if (!(hold instanceof Promise)) return hold
    return hold.catch((error: unknown) => refuse(error, basis))
  } catch (error) {
    return refuse(error, basis)
  }
}

/** Says no in the words of a gateway. */
function refuse(error: unknown, basis: CostBasis): never {
  if (error instanceof LedgerUnavailableError) {
    throw new GatewayError('overloaded', 'The ledger cannot take new requests now. Try again soon.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  if (error instanceof KeyBudgetExceededError) throw overBudget(error, basis)
  if (error instanceof BalanceInsufficientError) throw insufficient(error, basis)
  throw error
}

/** What the worst of one more exchange may come to. */
export function roomOf(balance: Balance): Admitted {
  const { balanceMicros, debtMicros, riskMicros, worstMicros, availableMicros } = balance
  return {
    likelyMicros: Math.max(0, availableMicros),
    worstMicros: Math.max(0, balanceMicros - debtMicros + riskMicros - worstMicros),
    isStrict: riskMicros === 0,
  }
}

function overBudget(error: KeyBudgetExceededError, basis: CostBasis): GatewayError {
  const { likelyMicros, worstMicros, riskMicros, budget } = error
  const room: Admitted = {
    likelyMicros: Math.max(0, budget.availableMicros),
    worstMicros: Math.max(0, budget.budgetMicros - budget.spentMicros - budget.worstMicros + riskMicros),
    isStrict: riskMicros === 0,
  }
  const available = formatRoubles(budget.availableMicros)
  const reset =
    budget.resetsAt === undefined ? '' : ` It starts anew at ${new Date(budget.resetsAt).toISOString()}.`
  const { maxTokens, advice } = waysToFit(basis, room)
  return new GatewayError(
    'key_budget_exceeded',
    `This request likely costs ${formatRoubles(likelyMicros)} roubles and ${formatRoubles(worstMicros)} at worst, and the key's budget has ${available} left.${reset}${advice}`,
    { cause: error, details: { ...detailsOf(error), available, max_tokens: maxTokens } },
  )
}

function insufficient(error: BalanceInsufficientError, basis: CostBasis): GatewayError {
  const { likelyMicros, worstMicros, balance } = error
  const available = formatRoubles(balance.availableMicros)
  const debt = formatRoubles(balance.debtMicros)
  const risk = formatRoubles(balance.riskMicros)
  const { maxTokens, advice } = waysToFit(basis, roomOf(balance))
  const owed = balance.debtMicros > 0 ? ` The account owes ${debt}, which the next top-up pays first.` : ''
  return new GatewayError(
    'balance_insufficient',
    `This request likely costs ${formatRoubles(likelyMicros)} roubles and ${formatRoubles(worstMicros)} at worst; ${available} are available, with a risk of ${risk}.${owed} Top up.${advice}`,
    { cause: error, details: { ...detailsOf(error), available, risk, debt, max_tokens: maxTokens } },
  )
}

function detailsOf(error: { readonly likelyMicros: Micros; readonly worstMicros: Micros }): {
  readonly likely: string
  readonly worst: string
} {
  return { likely: formatRoubles(error.likelyMicros), worst: formatRoubles(error.worstMicros) }
}
