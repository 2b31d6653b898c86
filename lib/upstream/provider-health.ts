/** What an operator has switched; the latest of each provider and credential. */
export interface ProviderSwitch {
  readonly provider: string
  /** `openai#1`; empty: the whole provider. */
  readonly credential: string
  /** Clients' requests are not sent there. */
  readonly isPaused: boolean
  /** When rests were ended last, in milliseconds since the epoch; 0: never. */
  readonly triedAt: number
}

/** A credential as one process knows it. */
export interface CredentialHealth {
  /** Its name in logs, never its value. */
  readonly name: string
  readonly isPaused: boolean
  /** `unreachable`: its breaker is open. `refused`: the provider does not take it, or who pays for it. */
  readonly state: 'works' | 'unreachable' | 'refused'
  /** In so many milliseconds it is tried again; 0 where it works, or the next request tries it. */
  readonly restMs: number
  /** Models that the provider asked to leave alone for a while. */
  readonly coolingModels: number
  readonly requests: number
  readonly waiting: number
}

/** A way to one of a provider's addresses, as one process knows it. */
export interface RouteHealth {
  readonly egress: string
  readonly origin: string
  /** `barred`: the provider does not serve the country of this way out. */
  readonly state: 'works' | 'fails' | 'barred'
  readonly restMs: number
}

/** A provider as one process knows it. */
export interface ProviderHealth {
  readonly name: string
  /** No credential of it is set. */
  readonly isOff: boolean
  readonly credentials: readonly CredentialHealth[]
  /** Those that were used. */
  readonly routes: readonly RouteHealth[]
}

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
