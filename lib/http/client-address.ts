import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'

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
 * The client's address of a request: the connection's, or behind trusted proxies the last one in X-Forwarded-For that
 * no trusted proxy wrote. Entries that a client adds itself are never trusted.
 */
export function addressOf({ socket, headers }: IncomingMessage, trusted: BlockList): string {
  const forwardedFor = headers['x-forwarded-for']
  const hops =
    forwardedFor
      ?.toString()
      .split(',')
      .map(hop => plainAddress(hop.trim())) ?? []
  let address = plainAddress(socket.remoteAddress ?? '')
  while (isListed(trusted, address)) {
    const previous = hops.pop()
    if (previous === undefined || isIP(previous) === 0) break
    address = previous
  }
  return address
}

/** The owner of a connection: its network, or the connection itself where a trusted proxy relays many clients. */
export function ownerOfConnection(socket: Socket, trusted: BlockList): unknown {
  const { remoteAddress = '' } = socket
  return isFromProxy(remoteAddress, trusted) ? socket : networkOf(plainAddress(remoteAddress))
}

/** Whether a connection comes from a trusted proxy. */
export function isFromProxy(remoteAddress: string, trusted: BlockList): boolean {
  return isListed(trusted, plainAddress(remoteAddress))
}

/** Whether an address is in a list; false for an invalid address. */
export function isListed(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/**
 * The network whose requests are counted together: the first half of an IPv6 address, since a single line has all of
 * the addresses below it.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = [], tail = []] = address
    .split('::')
    .map(part => part.split(':').filter(group => group !== ''))
  const zeros = Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** An address without the part that identifies a client in its network: `203.0.113.0`, `2001:db8:1::`. */
export function truncatedAddress(address: string): string {
  if (isIP(address) !== 6) return address.replace(/\d+$/, '0')
  return networkOf(address).replace(/:[^:]+::\/64$/, '::')
}

/** A dual-stack socket shows IPv4 clients as `::ffff:203.0.113.7`. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
