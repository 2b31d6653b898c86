import type { Config } from '../config/config.ts'
import { holdRefused } from '../ledger/as-gateway-error.ts'
import type { Hold, Ledger } from '../ledger/ledger.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { exchangeCost, type CostBasis } from './exchange-cost.ts'
import { waysToFit } from './ways-to-fit.ts'
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
  throw holdRefused(error, { subject: 'This request', waysToFit: room => waysToFit(basis, room) })
}
