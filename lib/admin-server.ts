import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Listen } from './config/config.ts'
import type { ServedMetrics } from './front.ts'
import { nodeHttp } from './node-http.ts'

/** Tells balancers and supervisors how the process is, on a listener of its own. */
export class AdminServer {
  readonly #server: Server
  readonly #isServing: () => boolean
  #isReady = true

  constructor(metrics: ServedMetrics, isServing: () => boolean) {
    this.#isServing = isServing
    this.#server = nodeHttp.createServer((request, response) => {
      if (request.url === '/metrics') return void answerMetrics(metrics, response)
      const status = this.#statusOf(request.url ?? '')
      const body = JSON.stringify({
        status:
          status === 200 ? 'ok' : status === 404 ? 'not found' : this.#isReady ? 'not serving' : 'draining',
      })
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
      response.end(body)
    })
  }

  /** Answers the address it listens on: `http://127.0.0.1:9090`. */
  async listen({ host, port }: Listen): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, resolve)
    })
    const address = this.#server.address() as AddressInfo
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  }

  /** From now on the process is alive but wants no new requests. */
  drain(): void {
    this.#isReady = false
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }

  #statusOf(url: string): number {
    if (url === '/healthz') return 200
    if (url === '/readyz') return this.#isReady && this.#isServing() ? 200 : 503
    return 404
  }
}

async function answerMetrics(metrics: ServedMetrics, response: ServerResponse): Promise<void> {
  try {
    const body = await metrics.text()
    response.writeHead(200, {
      'content-type': metrics.contentType,
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error))
  }
}
