import type { RequestFacts } from '../dialects/dialect.ts'
import { rentsContainers } from '../dialects/rented-containers.ts'
import type { Price } from '../money/price.ts'
import { GatewayError } from '../pipeline/errors.ts'

/**
 * Containers are rented whether code runs in them or not, so one without a price of its own size would be the house's.
 * @throws GatewayError not_supported
 */
export function requirePricedContainers(
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
