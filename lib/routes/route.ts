import type { Dialect, RouteMatch } from '../dialects/dialect.ts'
import type { OwnEndpoint } from './match-own.ts'

/** Where a request goes by its method, path and headers alone; set before the first gate. */
export interface Route {
  readonly dialect: Dialect
  readonly match: RouteMatch
  /** What the client's path begins with, in place of the provider's base URL: `/v1`, `/groq/v1`. */
  readonly prefix: string
  /** The provider in the path (`/groq/v1/...`), which then is the only one asked. */
  readonly providerName: string | undefined
  /** Keys in the query, cut out of `match.upstreamPath`. */
  readonly queryKeys: readonly string[]
  /** Set when the gateway itself answers, below `/gateway/v1/`. */
  readonly ownEndpoint?: OwnEndpoint
}

declare module '../pipeline/facts.ts' {
  interface Facts {
    /** Set before the first gate. */
    route: Route
  }
}
