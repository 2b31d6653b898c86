import type { IncomingMessage } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import { createProxyServer } from 'http-proxy-3'
import { nodeHttp } from '../platform/node-http.ts'

export interface UpgradeRequest {
  readonly path: string
  /** Flat; with Host, without connection headers. */
  readonly headers: readonly string[]
}

/** An agent for the one connection that was opened for it, through a proxy or not. */
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
 * Requests a WebSocket from a provider over an open connection. http-proxy-3's client socket is one end of a pair; the
 * other end is returned, and delivers the provider's response from its status line on.
 * @param onError called when the connection fails; the pair is closed then
 */
export function proxyWebSocket(
  connection: Duplex,
  request: UpgradeRequest,
  onError: (error: Error) => void,
): Duplex {
  const [ours, theirs] = duplexPair()
  // What http-proxy-3 requires of a socket beyond being a stream.
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
  // The connection already has TLS where it needs it.
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
