/** A request that costs the gateway as much as possible. */
export interface HostileBody {
  readonly path: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, string>>
}
