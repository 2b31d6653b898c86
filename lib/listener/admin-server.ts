import type { Server, ServerResponse } from 'node:http'
import type { Listen } from '../config/config.ts'
import { createHttpServer, listenOn, urlOf, type ServerBounds } from './http-server.ts'

/** The content of `/metrics`. */
export interface ServedMetrics {
  readonly contentType: string
  text(): Promise<string>
}

const bounds: ServerBounds = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 75_000,
  connectionsMax: 1000,
}

/** Reports the state of the process to load balancers and supervisors, on a listener of its own. */
export class AdminServer {
  readonly #server: Server
  readonly #problem: () => string | undefined
  #isReady = true

  /** @param problem why the process should receive no requests; undefined while all is well */
  constructor(metrics: ServedMetrics, problem: () => string | undefined) {
    this.#problem = problem
    this.#server = createHttpServer({
      bounds,
      handle: (request, response) => {
        if (request.url === '/metrics') void answerMetrics(metrics, response)
        else this.#answerState(request.url ?? '', response)
      },
    })
  }

  /** Returns the address it listens on: `http://127.0.0.1:9090`. */
  async listen(address: Listen): Promise<string> {
    await listenOn(this.#server, address)
    return urlOf(this.#server)
  }

  /** Reports from now on that the process is alive but not ready for new requests. */
  drain(): void {
    this.#isReady = false
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }

  #answerState(url: string, response: ServerResponse): void {
    const { status, text } = this.#stateOf(url)
    const body = JSON.stringify({ status: text })
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  }

  #stateOf(url: string): { readonly status: number; readonly text: string } {
    if (url === '/healthz') return { status: 200, text: 'ok' }
    if (url !== '/readyz') return { status: 404, text: 'not found' }
    const problem = this.#isReady ? this.#problem() : 'draining'
    return problem === undefined ? { status: 200, text: 'ok' } : { status: 503, text: problem }
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
