import type { Operation, RequestFacts } from '../dialects/dialect.ts'
import { rentsContainers, boundOf } from '../dialects/provider-tools.ts'
import { mayCostMore } from '../dialects/asked-tier.ts'
import type { MediaPart } from '../http/media-part.ts'
import { factorName, tierName } from '../money/consumed-cost.ts'
import type { Price } from '../money/price.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** A search is charged by one of these: by itself, with its request, or by the cost that its provider states. */
const payingMeters = ['searches', 'requests', 'statedUsd'] as const

/** @throws GatewayError not_supported for work that a provider would charge separately and that has no price here */
export function requirePriced(
  facts: RequestFacts,
  price: Price,
  providerKind: string,
  { name, pricedAt }: Pick<Operation, 'name' | 'pricedAt'>,
): void {
  if (pricedAt?.has(providerKind) === false) {
    throw new GatewayError(
      'not_supported',
      `The cost of ${name.replaceAll('-', ' ')} at this provider does not show in the request, so it is not forwarded.`,
    )
  }
  const { units, mayRent, tools } = facts
  if (facts.isLengthUnsaid === true && knownProvider(providerKind).hasOwnVideoLengths === true)
    throw lengthUnsaid()
  if (facts.reportsLength !== undefined) {
    const byAddress = facts.media.filter(({ bytes }) => bytes === undefined)
    requireReportedLength(facts, [providerKind], byAddress)
  }
  if (facts.wantedTier !== undefined) requirePricedTier(facts.wantedTier, price, providerKind)
  if (units?.containers !== undefined || mayRent === true) requirePricedContainers(facts, price, providerKind)
  if (tools !== undefined) requirePricedSearches(tools, price, providerKind)
}

/**
 * A tier that is served above the usual price, and without a factor here, would be charged at the usual price.
 * @throws GatewayError not_supported
 */
export function requirePricedTier(
  wanted: string | undefined,
  { factors }: Price,
  providerKind: string,
): void {
  for (const asked of wanted?.split('+') ?? []) {
    const name = tierName(asked)
    if (!mayCostMore(name, providerKind) || factorName(name, factors) !== undefined) continue
    throw new GatewayError(
      'not_supported',
      `The tier "${name}" has no price for this model here, so it is not served. The operator sets it: factors, "${name}".`,
      { param: knownProvider(providerKind).tierMembers?.get(name) ?? 'service_tier' },
    )
  }
}

function lengthUnsaid(): GatewayError {
  return new GatewayError(
    'body_invalid',
    'How long a video is at this provider unless the request says so is not known here. Send "seconds".',
    { param: 'seconds' },
  )
}

/**
 * Audio of unknown length, by address or in an unreadable format, is charged by the length that its response reports.
 * If the response reports none, the cost would be unknown.
 * @param kinds of all providers that may respond
 * @param unknown media whose length the gateway does not know
 * @throws GatewayError not_supported
 */
export function requireReportedLength(
  { reportsLength }: Pick<RequestFacts, 'reportsLength'>,
  kinds: readonly string[],
  [unknown]: readonly Pick<MediaPart, 'path'>[],
): void {
  if (unknown === undefined || reportsLength === undefined || reportsLength === 'surely') return
  if (reportsLength === 'perhaps' && kinds.every(kind => knownProvider(kind).tellsAudioLength === true))
    return
  throw new GatewayError(
    'not_supported',
    `How long the audio at ${unknown.path} is cannot be read here, and the response would not report it. Send response_format=verbose_json, or the audio itself as MP3, WAV, FLAC, M4A, Ogg or WebM.`,
    { param: unknown.path },
  )
}

/**
 * Containers are rented whether code runs in them or not, so the operator would pay for one without a price for its
 * size.
 * @throws GatewayError not_supported
 */
function requirePricedContainers(
  { units, unitsVariant, mayRent }: Pick<RequestFacts, 'units' | 'unitsVariant' | 'mayRent'>,
  { rubPerUnit }: Price,
  providerKind: string,
): void {
  if (!rentsContainers(providerKind)) return
  if (mayRent === true && rubPerUnit['containers'] === undefined) {
    throw new GatewayError(
      'not_supported',
      'The prompt may bring a container, which has no price for this model here. The operator sets it: rubPerUnit or usdPerUnit, "containers"; or says that the prompt brings none: tools: false.',
      { param: 'prompt' },
    )
  }
  if (units?.containers === undefined) return
  const name = unitsVariant === undefined ? 'containers' : `containers/${unitsVariant}`
  if (rubPerUnit[name] !== undefined) return
  const size = unitsVariant === undefined ? '' : ` of ${unitsVariant}`
  throw new GatewayError(
    'not_supported',
    `A container${size} has no price for this model here, so none is rented. The operator sets it: rubPerUnit or usdPerUnit, "${name}".`,
    { param: 'tools' },
  )
}

/**
 * Search tools have a fee for each use, which the operator would pay if it had no price.
 * @throws GatewayError not_supported
 */
export function requirePricedSearches(
  tools: RequestFacts['tools'],
  price: Price,
  providerKind: string,
): void {
  const tool = tools?.find(one => boundOf(one, providerKind).isSearch === true)
  if (tool === undefined || payingMeters.some(meter => isPriced(price, meter))) return
  throw new GatewayError(
    'not_supported',
    `A search has no price for this model here, so nothing that may search (${tool.type}) is run for it. The operator sets one: rubPerUnit or usdPerUnit, "searches", which may be "0".`,
    { param: tool.type === 'prompt' ? 'prompt' : 'tools' },
  )
}

function isPriced({ rubPerMillion, rubPerUnit }: Price, meter: (typeof payingMeters)[number]): boolean {
  if (rubPerMillion[meter] !== undefined) return true
  return Object.keys(rubPerUnit).some(name => name === meter || name.startsWith(`${meter}/`))
}
