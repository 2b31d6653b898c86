import type { ProviderConfig } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import type { NamedObject } from '../money/usage.ts'
import { GatewayError } from '../pipeline/errors.ts'

/** What xAI's batches may hold here: results of images and videos do not say what they cost. */
const xaiEndpoints = ['/v1/chat/completions', '/v1/responses']

/** @throws GatewayError body_invalid */
export function requireXaiEndpoints(shares: readonly BatchShare[]): void {
  const other = shares.find(({ endpoint }) => !xaiEndpoints.includes(endpoint))
  if (other === undefined) return
  throw new GatewayError(
    'body_invalid',
    `${other.firstAt}: Batches of xAI's are for ${xaiEndpoints.join(', ')} here, not for ${other.endpoint}.`,
    { param: other.firstAt },
  )
}

/**
 * The results of a batch that was made of a file are charged all together.
 * @throws GatewayError not_supported
 */
export async function requireAddable(
  { ledger }: { readonly ledger: Ledger },
  chosen: { readonly provider: ProviderConfig } | undefined,
  batch: NamedObject | undefined,
): Promise<void> {
  if (chosen?.provider.kind !== 'xai' || batch === undefined)
    throw new GatewayError('not_supported', 'Requests are added to batches of xAI alone.')
  const ofFile = await ledger.findJob({ provider: chosen.provider.name, kind: 'batch', id: batch.id })
  if (ofFile === undefined) return
  throw new GatewayError(
    'not_supported',
    'The batch was made of a file, so no requests are added to it here. Make another one.',
  )
}
