import type { Socket } from 'node:net'
import { egressConnector } from './egress-connector.ts'
import type { EgressRoute } from './egress-route.ts'

/**
 * One connection to a provider's origin by one way out, with TLS verified here where the origin has it.
 * @throws Error of the connection, EgressError of the proxy; nothing was sent to the provider
 */
export async function openConnection(origin: URL, route: EgressRoute, connectMs: number): Promise<Socket> {
  const { protocol, hostname, host, port } = origin
  const connect = egressConnector(route.proxy, connectMs, route.lookup)
  route.watch()
  return await new Promise((resolve, reject) => {
    connect({ protocol, hostname, host, port }, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
  })
}
