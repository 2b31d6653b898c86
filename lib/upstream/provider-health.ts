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
