import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { EgressError } from './egress-error.ts'
import { httpConnect, type TunnelEnd } from './http-connect.ts'
import { SocketReader } from './socket-reader.ts'
import { socks5Connect } from './socks5-connect.ts'

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const socksPort = 1080

/** A proxy, by its name in the config and its address. */
export interface Proxy {
  readonly name: string
  readonly url: URL
  /** Finds the proxy's own address; the system does unless said. */
  readonly lookup?: LookupFunction | undefined
}

/**
 * Opens a connection through a proxy. Nothing of a request is sent, and no name is resolved here but the
 * proxy's own.
 * @throws EgressError when the proxy cannot be reached, refuses, or takes longer than this
 */
export async function openTunnel(proxy: Proxy, end: TunnelEnd, timeoutMs: number): Promise<Socket> {
  const { url } = proxy
  const socket = connectTo(proxy)
  socket.setNoDelay(true)
  const reader = new SocketReader(socket)
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    socket.destroy()
  }, timeoutMs)
  try {
    const handshake = url.protocol.startsWith('socks5') ? socks5Connect : httpConnect
    await handshake(url, socket, reader, end)
    reader.release()
    return socket
  } catch (error) {
    // The reader listens on, so that an error of the dying socket has somebody to go to.
    socket.destroy()
    const reason = hasTimedOut
      ? `It did not answer in ${timeoutMs} ms.`
      : error instanceof Error
        ? error.message
        : String(error)
    throw new EgressError(`The egress ${proxy.name} failed. ${reason}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function connectTo({ url, lookup }: Proxy): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (defaultPorts[url.protocol] ?? socksPort) : Number(url.port)
  const found = lookup === undefined ? {} : { lookup }
  if (url.protocol !== 'https:') return connectTcp({ host, port, ...found })
  // RFC 6066: the name of a server is no address.
  const named = isIP(host) === 0 ? { servername: host } : {}
  return connectTls({ host, port, ...found, ...named, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
}
