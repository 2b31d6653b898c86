import type { Socket } from 'node:net'
import { EgressError } from './egress-error.ts'
import type { SocketReader } from './socket-reader.ts'

const headBytesMax = 16_384

/** An address as the proxy is to reach it; a name is resolved there. */
export interface TunnelEnd {
  readonly hostname: string
  readonly port: number
}

/**
 * Asks an HTTP proxy for a tunnel (RFC 9110 section 9.3.6).
 * @throws EgressError when it says anything but 2xx
 */
export async function httpConnect(
  proxy: URL,
  socket: Socket,
  reader: SocketReader,
  end: TunnelEnd,
): Promise<void> {
  const authority = `${end.hostname.includes(':') ? `[${end.hostname}]` : end.hostname}:${end.port}`
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`]
  if (proxy.username !== '') {
    const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(pair).toString('base64')}`)
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const head = await reader.readThrough('\r\n\r\n', headBytesMax)
  const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(head.toString('latin1'))?.[1]
  if (status === undefined) throw new EgressError('It does not speak HTTP.')
  if (status === '407') throw new EgressError('It refused its user and password (407).')
  if (!status.startsWith('2')) throw new EgressError(`It answered CONNECT with ${status}.`)
}
