import type { CredentialHealth, ProviderHealth, RouteHealth } from './provider-health.ts'

/** In how many processes something does not work, of how many that know it. */
interface Affected {
  readonly affected: number
  readonly processes: number
}

/** A provider as all processes together know it: of states the worst, of rests the longest, of requests the sum. */
export interface MergedProvider {
  readonly name: string
  readonly isOff: boolean
  readonly credentials: readonly (CredentialHealth & Affected)[]
  readonly routes: readonly (RouteHealth & Affected)[]
}

const credentialStates = ['works', 'unreachable', 'refused'] as const
const routeStates = ['works', 'fails', 'barred'] as const

function worst<State>(order: readonly State[], states: readonly State[]): State {
  return states.toSorted((left, right) => order.indexOf(right) - order.indexOf(left))[0] as State
}

function affectedOf(all: readonly { readonly state: string }[]): Affected {
  return { affected: all.filter(one => one.state !== 'works').length, processes: all.length }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((left, right) => left + right, 0)
}

function mergeCredentials(all: readonly CredentialHealth[]): CredentialHealth & Affected {
  const [{ name } = { name: '' }] = all
  return {
    name,
    isPaused: all.some(one => one.isPaused),
    state: worst(
      credentialStates,
      all.map(one => one.state),
    ),
    restMs: Math.max(...all.map(one => one.restMs)),
    coolingModels: Math.max(...all.map(one => one.coolingModels)),
    requests: sum(all.map(one => one.requests)),
    waiting: sum(all.map(one => one.waiting)),
    ...affectedOf(all),
  }
}

function mergeRoutes(all: readonly RouteHealth[]): RouteHealth & Affected {
  const [{ egress, origin } = { egress: '', origin: '' }] = all
  const state = worst(
    routeStates,
    all.map(one => one.state),
  )
  return { egress, origin, state, restMs: Math.max(...all.map(one => one.restMs)), ...affectedOf(all) }
}

/** One view of what each process knows of every provider. */
export function mergeHealth(processes: readonly (readonly ProviderHealth[])[]): readonly MergedProvider[] {
  const byName = Map.groupBy(processes.flat(), one => one.name)
  return [...byName].map(([name, known]) => {
    const credentials = Map.groupBy(
      known.flatMap(one => one.credentials),
      one => one.name,
    )
    const routes = Map.groupBy(
      known.flatMap(one => one.routes),
      one => `${one.egress} ${one.origin}`,
    )
    return {
      name,
      isOff: known.every(one => one.isOff),
      credentials: [...credentials.values()].map(mergeCredentials),
      routes: [...routes.values()].map(mergeRoutes),
    }
  })
}
