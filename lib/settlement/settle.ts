import type { ChargeRequest } from '../ledger/ledger.ts'
import { isSameModel } from '../metering/is-same-model.ts'
import type { Price } from '../money/price.ts'
import type { UsageLine, UsageReading } from '../money/usage.ts'
import { decideOwed, type Ending, type Owed } from './decide-owed.ts'
import { priceLines, type PricedModel } from './price-lines.ts'
import { statedBeyond } from './stated-cost.ts'

/** Work that was asked of a provider, as its charge describes it: a request, a turn of a session, or a job. */
export interface Work extends Pick<ChargeRequest, 'provider' | 'model' | 'dialect' | 'operation'> {
  /** By which the provider's bill and support know it. */
  readonly providerRequestId?: string | undefined
  /** What was asked for. */
  readonly own: PricedModel
  /** What is billed where another model has answered; undefined where the model that was asked for is, with a flag. */
  readonly replacedBy?: (model: string) => PricedModel | undefined
  /** The price of another model by its name at the provider. */
  readonly priceOf: (model: string) => Price | undefined
}

/** What was read of a response, as far as its charge depends on it. */
export type Reported = Pick<UsageReading, 'lines' | 'flags'> &
  Partial<Pick<UsageReading, 'raw' | 'details' | 'model' | 'providerRequestId'>>

/** Lines that no provider has told in full, and how they came about. */
export interface EstimatedLines {
  readonly lines: readonly UsageLine[]
  /** `provider` where its last report covers all that there was. */
  readonly source: 'estimated' | 'provider'
  readonly flags: readonly string[]
  /** Tokens by how they were found: counted, taken from a length, or those that such responses usually have. */
  readonly details?: Readonly<Record<string, number>>
}

interface Decided extends Omit<EstimatedLines, 'source'> {
  readonly source: ChargeRequest['usageSource']
}

/** How some work ended, and what was read of it. */
export interface WorkEnd {
  readonly ending: Ending
  readonly reported?: Reported | undefined
  /** What else is noted about it. */
  readonly flags?: readonly string[]
}

type OwedEstimate = Owed & { readonly basis: 'estimated' }

/**
 * What some work owes, now that it is over: the one settlement of requests, turns of sessions and jobs.
 * @param estimate what was used as far as nobody has reported it; its flags include those of `owed`
 * @returns undefined when nothing was sent, so that the hold is to be released; a promise where `estimate` gives one
 */
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => EstimatedLines,
): ChargeRequest | undefined
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => Promise<EstimatedLines>,
): ChargeRequest | undefined | Promise<ChargeRequest>
export function settle(
  work: Work,
  end: WorkEnd,
  estimate: (owed: OwedEstimate) => EstimatedLines | Promise<EstimatedLines>,
): ChargeRequest | undefined | Promise<ChargeRequest> {
  const owed = decideOwed(end.ending)
  if (owed.basis === 'nothing') return undefined
  if (owed.basis === 'zero') return chargeOf(work, end, { lines: [], source: 'provider', flags: owed.flags })
  if (owed.basis === 'reported') {
    const { lines = [] } = end.reported ?? {}
    return chargeOf(work, end, { lines, source: owed.source, flags: owed.flags })
  }
  const estimated = estimate(owed)
  if (!(estimated instanceof Promise)) return chargeOf(work, end, estimated)
  return estimated.then(lines => chargeOf(work, end, lines))
}

/** A charge for lines that are known. */
export function chargeOf(
  work: Work,
  { ending, reported, flags = [] }: WorkEnd,
  decided: Decided,
): ChargeRequest {
  const raised = new Set([...(reported?.flags ?? []), ...decided.flags, ...flags])
  const own = answeringModel(work, reported?.model, raised)
  const lines = priceLines(decided.lines, own, model => work.priceOf(model), raised)
  const details = { ...reported?.details, ...decided.details }
  const beyond = statedBeyond(lines, reported?.details?.['costUsd'], own.price)
  if (beyond !== undefined) raised.add('cost_stated')
  const providerRequestId = work.providerRequestId ?? reported?.providerRequestId
  return {
    provider: work.provider,
    model: work.model,
    dialect: work.dialect,
    operation: work.operation,
    outcome: ending.outcome,
    // Such lines are read off the request, and no provider's number.
    usageSource: raised.has('size_estimated') ? 'estimated' : decided.source,
    lines: beyond === undefined ? lines : [...lines, beyond],
    ...(reported?.raw !== undefined && { rawUsage: reported.raw }),
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
    ...(reported?.model !== undefined && { answeredModel: reported.model }),
    flags: [...raised],
  }
}

function answeringModel(
  { own, replacedBy }: Work,
  answered: string | undefined,
  flags: Set<string>,
): PricedModel {
  if (answered === undefined || own.name === '' || isSameModel(answered, own.name)) return own
  const other = replacedBy?.(answered)
  if (other === undefined) flags.add('model_mismatch')
  return other ?? own
}
