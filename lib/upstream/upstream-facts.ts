/** How an exchange went out, for the log. */
export interface UpstreamFacts {
  readonly attemptCount: number
  readonly egressName: string | undefined
}

declare module '../pipeline/facts.ts' {
  interface Facts {
    upstream: UpstreamFacts
  }
}
