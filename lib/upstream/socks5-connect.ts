import { isIPv4, isIPv6, SocketAddress, type Socket } from 'node:net'
import { EgressError } from './egress-error.ts'
import type { TunnelEnd } from './http-connect.ts'
import type { SocketReader } from './socket-reader.ts'

const noAuthentication = 0
const userAndPassword = 2

/** RFC 1928 section 6. */
const replies: readonly string[] = [
  'succeeded',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
]

/**
 * Asks a SOCKS5 proxy for a tunnel (RFC 1928, RFC 1929). Names are sent as names and resolved there.
 * @throws EgressError when it refuses
 */
export async function socks5Connect(
  proxy: URL,
  socket: Socket,
  reader: SocketReader,
  end: TunnelEnd,
): Promise<void> {
  const hasUser = proxy.username !== ''
  socket.write(Buffer.from(hasUser ? [5, 2, noAuthentication, userAndPassword] : [5, 1, noAuthentication]))
  const [version, method] = await reader.read(2)
  if (version !== 5) throw new EgressError('It does not speak SOCKS5.')
  if (method === userAndPassword && hasUser) await authenticate(proxy, socket, reader)
  else if (method !== noAuthentication) throw new EgressError('It wants another kind of authentication.')

  const port = Buffer.alloc(2)
  port.writeUInt16BE(end.port)
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressBytes(end.hostname), port]))
  const [, reply = 255, , type] = await reader.read(4)
  if (reply !== 0) throw new EgressError(`It refused the connection: ${replies[reply] ?? `code ${reply}`}.`)
  // The address it is bound to is of no use, and must be read away.
  const length = type === 1 ? 4 : type === 4 ? 16 : ((await reader.read(1))[0] ?? 0)
  await reader.read(length + 2)
}

async function authenticate(proxy: URL, socket: Socket, reader: SocketReader): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username))
  const password = Buffer.from(decodeURIComponent(proxy.password))
  if (user.length > 255 || password.length > 255) throw new EgressError('Its user or password is too long.')
  socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]))
  const [, status] = await reader.read(2)
  if (status !== 0) throw new EgressError('It refused its user and password.')
}

function addressBytes(hostname: string): Buffer {
  if (isIPv4(hostname)) return Buffer.from([1, ...hostname.split('.').map(Number)])
  if (isIPv6(hostname)) return Buffer.concat([Buffer.from([4]), ipv6Bytes(hostname)])
  const name = Buffer.from(hostname)
  if (name.length > 255) throw new EgressError('The name of the provider is too long for SOCKS5.')
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

function ipv6Bytes(address: string): Buffer {
  const plain = new SocketAddress({ address, family: 'ipv6' }).address
  const [head = '', tail] = plain.split('::')
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map(part => Number(`0x${part}`))
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  const bytes = Buffer.alloc(16)
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}
