import type { IncomingMessage } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import { createProxyServer } from 'http-proxy-3'
import { nodeHttp } from '../platform/node-http.ts'

export interface UpgradeRequest {
  readonly path: string
  /** Flat; with Host, without what belongs to a connection. */
  readonly headers: readonly string[]
}

/** Gives out the one connection that was made for it, through a proxy or not. */
class OneConnectionAgent extends nodeHttp.Agent {
  readonly #connection: Duplex

  constructor(connection: Duplex) {
    super({ keepAlive: false, maxSockets: 1 })
    this.#connection = connection
  }

  override createConnection(): Duplex {
    return this.#connection
  }
}

const proxy = createProxyServer({ toProxy: true, prependPath: false, xfwd: false })
// Every call has a callback of its own; an error without a listener would end the process.
proxy.on('error', () => undefined)

/**
 * Asks a provider for a WebSocket over a connection that stands already. What http-proxy-3 takes for its
 * client is one end of a pair; the other is returned, and reads the provider's answer from its first line on.
 * @param onError when the connection fails; the pair is closed then
 */
export function proxyWebSocket(
  connection: Duplex,
  request: UpgradeRequest,
  onError: (error: Error) => void,
): Duplex {
  const [ours, theirs] = duplexPair()
  // What http-proxy-3 asks of a socket beside its being a stream.
  const socket = Object.assign(theirs, {
    setTimeout: () => socket,
    setNoDelay: () => socket,
    setKeepAlive: () => socket,
    destroySoon: () => socket.end(),
  })
  ours.once('close', () => {
    socket.destroy()
    connection.destroy()
  })
  connection.once('close', () => socket.end())
  const { path, headers } = request
  const incoming = {
    method: 'GET',
    url: path,
    httpVersion: '1.1',
    httpVersionMajor: 1,
    headers: headersOf(headers),
  }
  const agent = new OneConnectionAgent(connection)
  // The connection is encrypted already where it has to be.
  const options = { target: 'http://provider.invalid', agent }
  proxy.ws(incoming as unknown as IncomingMessage, socket, Buffer.alloc(0), options, onError)
  return ours
}

function headersOf(flat: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = (flat[index] as string).toLowerCase()
    const value = flat[index + 1] as string
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return { ...headers, connection: 'Upgrade', upgrade: 'websocket' }
}
