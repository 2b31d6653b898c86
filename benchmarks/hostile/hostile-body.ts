/** A request that is made to cost the gateway as much as it can. */
export interface HostileBody {
  readonly path: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, string>>
}
