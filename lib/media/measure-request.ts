import type { Ledger } from '../ledger/ledger.ts'
import type { MediaPart } from '../http/media-part.ts'
import { requireToldLength } from '../models/require-priced.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { measureParts, withTypeName, withUploaded, type MeasuredPart } from './measure-parts.ts'

/** The media of a request as they are measured, by their content and by what was uploaded before. */
export async function measureRequest(
  exchange: Exchange,
  ledger: Pick<Ledger, 'findObject'>,
  checkAtSight: (parts: readonly MediaPart[]) => void = () => undefined,
): Promise<readonly MeasuredPart[]> {
  const { provider } = exchange.get('target')
  const content = exchange.get('content')
  const uploaded = await withUploaded(exchange.get('request').media, ledger, provider.name)
  const parts = await withTypeName(uploaded, content)
  // What shows without reading the body once more is refused without.
  checkAtSight(parts)
  return measureParts(parts, content)
}

/**
 * Has holds and estimates go by what was measured.
 * @throws GatewayError not_supported where nothing would tell what the request costs
 */
export function useMeasured(exchange: Exchange, media: readonly MeasuredPart[]): void {
  exchange.set('request', { ...exchange.get('request'), media })
  exchange.set('areMediaMeasured', true)
  const unmeasured = media.filter(part => part.unmeasuredBecause !== undefined)
  if (unmeasured.length === 0) return
  exchange.set('unmeasured', unmeasured)
  const { provider, otherKinds = [] } = exchange.get('target')
  requireToldLength(exchange.get('request'), [provider.kind, ...otherKinds], unmeasured)
}
