import type { ProviderConfig } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { BatchShare } from '../money/batch-facts.ts'
import type { NamedObject } from '../money/usage.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** Their results name neither the model nor the size, so all must be alike, and in a batch of their own. */
const mediaEndpoints = ['/v1/images/generations', '/v1/images/edits', '/v1/videos/generations']

/** The endpoints that an xAI batch may contain here. */
const xaiEndpoints = ['/v1/chat/completions', '/v1/responses', ...mediaEndpoints]

/** @throws GatewayError body_invalid */
export function requireXaiEndpoints(shares: readonly BatchShare[]): void {
  const other = shares.find(({ endpoint }) => !xaiEndpoints.includes(endpoint))
  if (other === undefined) {
    requireAlike(shares)
    return
  }
  throw new GatewayError(
    'body_invalid',
    `${other.firstAt}: Batches of xAI's are for ${xaiEndpoints.join(', ')} here, not for ${other.endpoint}.`,
    { param: other.firstAt },
  )
}

/** @throws GatewayError body_invalid */
function requireAlike(shares: readonly BatchShare[]): void {
  const media = shares.find(({ endpoint }) => mediaEndpoints.includes(endpoint))
  const other = shares.find(share => share !== media)
  if (media === undefined || other === undefined) return
  const [, later = other] = shares
  throw new GatewayError(
    'body_invalid',
    `${later.firstAt}: It differs from the requests before it in endpoint, model, resolution or the number of images given, and the results of xAI's images and videos tell none of these. Make a batch for each, or add them to one by themselves.`,
    { param: later.firstAt },
  )
}

/**
 * The units that each request of a batch of images or videos makes if its result does not report them, and its price
 * variant.
 */
export function madeByEach([share]: readonly BatchShare[]): Pick<
  BatchShare,
  'units' | 'unitsVariant' | 'imagesGiven'
> {
  if (share?.units === undefined || !mediaEndpoints.includes(share.endpoint)) return {}
  const { units, unitsVariant, imagesGiven, requests } = share
  const { images, videoSeconds } = units
  const ofEach = (all: number): number => Math.ceil(all / requests)
  return {
    units: {
      ...(images !== undefined && { images: ofEach(images) - (imagesGiven ?? 0) }),
      ...(videoSeconds !== undefined && { videoSeconds: ofEach(videoSeconds) }),
    },
    ...(unitsVariant !== undefined && { unitsVariant }),
    ...(imagesGiven !== undefined && { imagesGiven }),
  }
}

/** Whether a provider's batches are xAI's, which name no model and no endpoint, and to which requests are added. */
export function hasXaiBatches<Chosen extends { readonly provider: Pick<ProviderConfig, 'kind'> }>(
  chosen: Chosen | undefined,
): chosen is Chosen {
  return chosen !== undefined && knownProvider(chosen.provider.kind).batches === 'xai'
}

/**
 * The results of a batch that was created from a file are charged together.
 * @throws GatewayError not_supported
 */
export async function requireAddable(
  { ledger }: { readonly ledger: Ledger },
  chosen: { readonly provider: ProviderConfig } | undefined,
  batch: NamedObject | undefined,
): Promise<void> {
  if (!hasXaiBatches(chosen) || batch === undefined)
    throw new GatewayError('not_supported', 'Requests are added to batches of xAI alone.')
  const ofFile = await ledger.findJob({ provider: chosen.provider.name, kind: 'batch', id: batch.id })
  if (ofFile === undefined) return
  throw new GatewayError(
    'not_supported',
    'The batch was made of a file, so no requests are added to it here. Make another one.',
  )
}
