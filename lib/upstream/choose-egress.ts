import type { EgressRoute } from './egress-route.ts'

/**
 * The next way out: by weight in turns among those that work and were not tried, else the least bad one.
 * Never a way that the provider does not name.
 */
export function chooseEgress(
  routes: readonly EgressRoute[],
  tried: ReadonlySet<EgressRoute> | undefined,
  now: number,
): EgressRoute | undefined {
  const [only] = routes
  if (routes.length === 1) return only !== undefined && tried?.has(only) === true ? undefined : only
  let least = 3
  for (const route of routes) {
    if (tried?.has(route) !== true) least = Math.min(least, route.badness(now))
  }
  let best: EgressRoute | undefined
  let total = 0
  for (const route of routes) {
    if (tried?.has(route) === true || route.badness(now) !== least) continue
    route.credit += route.weight
    total += route.weight
    if (best === undefined || route.credit > best.credit) best = route
  }
  if (best !== undefined) best.credit -= total
  return best
}
