import { networkOf as networkOfAddress } from '../../http/client-address.ts'
import { addressHeader } from './auth.ts'

/** Who asks: what of a request signing in depends on. */
export interface Caller {
  /** The client's address, as trusted proxies tell it. */
  readonly address: string
  readonly cookie: string
  readonly userAgent: string
}

/** Whose attempts are counted together. */
export function networkOf({ address }: Pick<Caller, 'address'>): string {
  return networkOfAddress(address)
}

/** The caller for better-auth. Nothing else of the request reaches it. */
export function callerHeaders({ address, cookie, userAgent }: Caller): Headers {
  return new Headers({ cookie, 'user-agent': userAgent, [addressHeader]: address })
}
