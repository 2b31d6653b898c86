/** A job for the load process. Requests are whole HTTP requests, as latin1 text. */
export type LoadJob =
  | {
      readonly kind: 'closed'
      readonly port: number
      readonly request: string
      readonly connections: number
      readonly seconds: number
    }
  | {
      readonly kind: 'open'
      readonly port: number
      readonly request: string
      readonly connections: number
      readonly seconds: number
      readonly rate: number
    }
  | {
      readonly kind: 'turns'
      readonly lanes: readonly { readonly port: number; readonly request: string }[]
      readonly rounds: number
      readonly warmUp: number
    }
  | { readonly kind: 'streams'; readonly port: number; readonly request: string; readonly count: number }
  | {
      readonly kind: 'hold'
      readonly port: number
      /** Sent once on each connection, if given. */
      readonly request?: string
      readonly connections: number
    }
  | { readonly kind: 'let-go' }

/** Milliseconds of each successful response. */
export interface LoadResult {
  readonly ms: Float64Array
  /** From the request to the first byte of its response. */
  readonly firstByteMs: Float64Array
  /** Of event streams: from sending a frame to reading it. */
  readonly frameMs?: Float64Array
  readonly errors: number
  readonly seconds: number
}
