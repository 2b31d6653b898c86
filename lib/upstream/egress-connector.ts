import type { LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { EgressError, openTunnel, type Proxy } from './open-tunnel.ts'

type Connector = ReturnType<typeof buildConnector>

/**
 * How connections to a provider are made: straight, or through a proxy. TLS is always the provider's own,
 * verified here, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
 * @param connectMs for each of the two steps, the tunnel and the TLS handshake
 * @param lookup finds the provider's address where no proxy does; absent: the system
 */
export function egressConnector(
  proxy: Proxy | undefined,
  connectMs: number,
  lookup?: LookupFunction,
): Connector {
  const found = lookup === undefined ? {} : { lookup }
  const connect = buildConnector({ allowH2: false, timeout: connectMs, rejectUnauthorized: true, ...found })
  if (proxy === undefined) return connect
  return (options, callback) => void connectThrough(proxy, connect, connectMs, options, callback)
}

async function connectThrough(
  proxy: Proxy,
  connect: Connector,
  connectMs: number,
  options: buildConnector.Options,
  callback: buildConnector.Callback,
): Promise<void> {
  let httpSocket
  try {
    if (options.protocol !== 'https:') throw new EgressError('Plain HTTP does not go out through a proxy.')
    const end = { hostname: options.hostname, port: Number(options.port) || 443 }
    httpSocket = await openTunnel(proxy, end, connectMs)
  } catch (error) {
    callback(error instanceof Error ? error : new Error(String(error)), null)
    return
  }
  connect({ ...options, httpSocket }, callback)
}
