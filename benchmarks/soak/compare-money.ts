import { systemClock } from '../../lib/platform/clock.ts'
import type { ChargeReport } from '../../lib/ledger/reports.ts'
import { openSqliteReports } from '../../lib/stores/sqlite/sqlite-reports.ts'
import { costMicros, type SoakGateway } from './soak-gateway.ts'
import type { SoakRecord } from './soak-load.ts'
import type { Fate, Given } from './soak-upstream.ts'

export interface Compared {
  readonly chargeCount: number
  readonly chargedMicros: number
  readonly requestCount: number
  readonly askedCount: number
  readonly faultCounts: ReadonlyMap<Fate, number>
  /** What does not agree, as sentences; empty when all does. */
  readonly differences: readonly string[]
}

function micros(roubles: string): number {
  return Number(roubles.replace('.', ''))
}

/** Compares what clients, the provider and the ledger say, request by request, to the micro-rouble. */
export async function compareMoney(
  gateway: SoakGateway,
  records: readonly SoakRecord[],
  given: ReadonlyMap<number, Given>,
): Promise<Compared> {
  const differences: string[] = []
  const reports = openSqliteReports(gateway.storeFile, systemClock)
  const charges = new Map<string, ChargeReport>()
  let chargedMicros = 0
  for await (const charge of reports.charges(gateway.accountId)) {
    if (charges.has(charge.requestId)) differences.push(`${charge.requestId} is charged twice`)
    charges.set(charge.requestId, charge)
    chargedMicros += micros(charge.amount)
  }
  const balance = await reports.balance(gateway.accountId)
  differences.push(...(await reports.verify()))
  await reports.close()
  if (balance?.heldMicros !== 0) differences.push(`${balance?.heldMicros} micro-roubles are still held`)
  if (balance?.balanceMicros !== gateway.creditMicros - chargedMicros)
    differences.push(`the balance is ${balance?.balanceMicros} and not the credit less the charges`)

  const faultCounts = new Map<Fate, number>()
  const unseen = new Set(charges.keys())
  for (const record of records) {
    faultCounts.set(record.fate, (faultCounts.get(record.fate) ?? 0) + 1)
    const charge = record.requestId === undefined ? undefined : charges.get(record.requestId)
    if (charge !== undefined) unseen.delete(charge.requestId)
    const difference = differenceOf(record, charge, given.get(record.number))
    if (difference !== undefined) differences.push(`request ${record.number} (${record.fate}): ${difference}`)
  }
  if (unseen.size > 0) differences.push(`${unseen.size} charges are of no client's request`)
  const askedCount = given.size
  return {
    chargeCount: charges.size,
    chargedMicros,
    requestCount: records.length,
    askedCount,
    faultCounts,
    differences,
  }
}

/** What every request with a fate has to come to. */
function differenceOf(
  { fate, status, isWhole, usage }: SoakRecord,
  charge: ChargeReport | undefined,
  answered: Given | undefined,
): string | undefined {
  if (fate === 'bad-request') {
    if (status !== 400) return `was answered with ${status}`
    return charge === undefined && answered === undefined ? undefined : 'was sent or charged'
  }
  if (answered?.times !== 1) return `reached the provider ${answered?.times ?? 0} times`
  if (charge === undefined) return 'is not charged'
  const isExact = micros(charge.amount) === costMicros(answered.input, answered.output)
  const found = `${status}, ${charge.outcome}, ${charge.amount} ${charge.usageSource} ${charge.flags.join()}`
  if (fate === 'none' || fate === 'client-reads-slowly') {
    const isSame = usage?.input === answered.input && usage.output === answered.output
    return status === 200 && isWhole && isSame && isExact && charge.outcome === 'completed'
      ? undefined
      : found
  }
  // A busy gateway may hear of a cut before anything has left it, and then nothing is owed.
  const isRefused = status === 502 && charge.amount === '0.000000' && charge.flags.includes('ambiguous')
  if (fate === 'upstream-resets-first') return isRefused ? undefined : found
  // A client that leaves late may have had all of it.
  if (fate === 'client-leaves' && charge.outcome === 'completed') return isExact ? undefined : found
  const outcome = fate === 'client-leaves' ? 'aborted' : 'broken'
  const isPaid = charge.usageSource === 'estimated' || isExact
  const isCut = status === 200 && !isWhole && charge.outcome === outcome && isPaid
  return isCut || (fate !== 'client-leaves' && isRefused) ? undefined : found
}
