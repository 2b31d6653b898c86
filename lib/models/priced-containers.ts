import type { RequestFacts } from '../dialects/dialect.ts'
import { rentsContainers } from '../dialects/rented-containers.ts'
import type { Price } from '../money/price.ts'
import { GatewayError } from '../pipeline/errors.ts'

/**
 * Containers are rented whether code runs in them or not, so one without a price of its own size would be the house's.
 * @throws GatewayError not_supported
 */
export function requirePricedContainers(
  { units, unitsVariant }: Pick<RequestFacts, 'units' | 'unitsVariant'>,
  { rubPerUnit }: Price,
  providerKind: string,
): void {
  if (units?.containers === undefined || !rentsContainers(providerKind)) return
  const name = unitsVariant === undefined ? 'containers' : `containers/${unitsVariant}`
  if (rubPerUnit[name] !== undefined) return
  const size = unitsVariant === undefined ? '' : ` of ${unitsVariant}`
  throw new GatewayError(
    'not_supported',
    `A container${size} has no price for this model here, so none is rented. The operator sets it: rubPerUnit or usdPerUnit, "${name}".`,
    { param: 'tools' },
  )
}
