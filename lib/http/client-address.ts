import { BlockList, isIP } from 'node:net'

/** Builds a list of addresses and networks: `203.0.113.7`, `10.0.0.0/8`, `2001:db8::/32`. */
export function addressList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = familyOf(address)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/**
 * The client's address: the connection's, or behind trusted proxies the last one in X-Forwarded-For that no
 * trusted proxy wrote. What a client puts there itself is never believed.
 */
export function clientAddress(
  remoteAddress: string,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = plainAddress(remoteAddress)
  const hops = forwardedFor?.split(',').map(hop => plainAddress(hop.trim())) ?? []
  while (isListed(trusted, address)) {
    const previous = hops.pop()
    if (previous === undefined || isIP(previous) === 0) break
    address = previous
  }
  return address
}

/** Whether a connection comes from a trusted proxy. */
export function isFromProxy(remoteAddress: string, trusted: BlockList): boolean {
  return isListed(trusted, plainAddress(remoteAddress))
}

/** Whether an address is in a list; what is no address never is. */
export function isListed(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** A dual-stack socket shows IPv4 clients as `::ffff:203.0.113.7`. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
