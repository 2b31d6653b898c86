import { isIP } from 'node:net'
import { addressHeader } from './auth.ts'

/** Who asks: what of a request signing in depends on. */
export interface Caller {
  /** The client's address, as trusted proxies tell it. */
  readonly address: string
  readonly cookie: string
  readonly userAgent: string
}

/**
 * Whose attempts are counted together: of IPv6 addresses the first half, since a single line has all of the
 * addresses behind it.
 */
export function networkOf({ address }: Pick<Caller, 'address'>): string {
  if (isIP(address) !== 6) return address
  const [head = [], tail = []] = address
    .split('::')
    .map(part => part.split(':').filter(group => group !== ''))
  const zeros = Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** The caller for better-auth. Nothing else of the request reaches it. */
export function callerHeaders({ address, cookie, userAgent }: Caller): Headers {
  return new Headers({ cookie, 'user-agent': userAgent, [addressHeader]: address })
}
