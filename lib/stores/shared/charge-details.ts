import type { ChargeRequest } from '../../ledger/ledger.ts'
import { storable } from './storable-text.ts'

/** What a charge keeps beside its lines. */
type ChargeDetails = Pick<ChargeRequest, 'details' | 'providerRequestId'>

/** As the column has it: the counts, and the provider's request id among them. */
export function writeDetails({ details, providerRequestId }: ChargeDetails): string | null {
  if (providerRequestId === undefined) return details === undefined ? null : JSON.stringify(details)
  return JSON.stringify({ ...details, providerRequestId: storable(providerRequestId) })
}

export function readDetails(column: string | null): ChargeDetails {
  if (column === null) return {}
  const { providerRequestId, ...details } = JSON.parse(column) as Record<string, number> & {
    providerRequestId?: string
  }
  return {
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
  }
}
