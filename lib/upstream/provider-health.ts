/** A switch set by an operator: the latest state for each provider and credential. */
export interface ProviderSwitch {
  readonly provider: string
  /** `openai#OPENAI_API_KEY`; empty: the whole provider. */
  readonly credential: string
  /** Clients' requests are not sent there. */
  readonly isPaused: boolean
  /** When pauses were last ended, in milliseconds since the epoch; 0: never. */
  readonly triedAt: number
}

/** A credential as one process sees it. */
export interface CredentialHealth {
  /** Its name in logs, never its value. */
  readonly name: string
  readonly isPaused: boolean
  /** `unreachable`: its breaker is open. `refused`: the provider refuses it or its billing. */
  readonly state: 'works' | 'unreachable' | 'refused'
  /** Milliseconds until it is tried again; 0 where it works, or the next request tries it. */
  readonly restMs: number
  /** How many models pause because the provider's rate limit was reached. */
  readonly coolingModels: number
  readonly requests: number
  readonly waiting: number
}

/** A route to one of a provider's addresses, as one process sees it. */
export interface RouteHealth {
  readonly egress: string
  readonly origin: string
  /** `barred`: the provider does not serve the country of this egress. */
  readonly state: 'works' | 'fails' | 'barred'
  readonly restMs: number
}

/** A provider as one process sees it. */
export interface ProviderHealth {
  readonly name: string
  /** None of its credentials is set. */
  readonly isOff: boolean
  readonly credentials: readonly CredentialHealth[]
  /** The routes that have been used. */
  readonly routes: readonly RouteHealth[]
}

/** In how many processes something does not work, out of those that know it. */
interface Affected {
  readonly affected: number
  readonly processes: number
}

/** A provider merged over all processes: the worst state, the longest pause, the sum of requests. */
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

/** Merges what each process knows about every provider. */
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
