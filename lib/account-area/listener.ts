import type { RequestListener, Server } from 'node:http'
import { createServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Certificate } from '../certificate.ts'
import type { Listen } from '../config/config.ts'
import { nodeHttp } from '../node-http.ts'
import { PipelinedRequests } from '../pipelined-requests.ts'

/** Bounds on who sends slowly or opens much; times in milliseconds. */
const bounds = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  // Node's own is half a minute, in which all connections are anybody's who says nothing.
  connectionsCheckingInterval: 1000,
}
const connectionsMax = 2000
/** For pages that are being made when the end begins. */
const lastPagesMs = 5000

/** The account area's own port: no request of the API comes in here. */
export class Listener {
  readonly #server: Server
  readonly #isTls: boolean
  #closed: Promise<void> | undefined

  constructor(certificate: Certificate | undefined, listener: RequestListener) {
    this.#isTls = certificate !== undefined
    const requests = new PipelinedRequests(listener)
    const onRequest: RequestListener = (request, response) => requests.take(request, response)
    this.#server =
      certificate === undefined
        ? nodeHttp.createServer(bounds, onRequest)
        : createServer({ ...bounds, ...certificate }, onRequest)
    this.#server.maxConnections = connectionsMax
  }

  /** Answers where it listens. */
  async listen({ host, port }: Listen): Promise<URL> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, resolve)
    })
    const { address, family, port: taken } = this.#server.address() as AddressInfo
    const name = family === 'IPv6' ? `[${address}]` : address
    return new URL(`${this.#isTls ? 'https' : 'http'}://${name}:${taken}`)
  }

  /** Shows this certificate from the next connection on. */
  renew(certificate: Certificate | undefined): void {
    if (certificate !== undefined && this.#server instanceof HttpsServer)
      this.#server.setSecureContext(certificate)
  }

  /** Serves on for a while, then lets pages that are being made end. May be called again. */
  close(waitMs: number): Promise<void> {
    return (this.#closed ??= this.#end(waitMs))
  }

  async #end(waitMs: number): Promise<void> {
    if (waitMs > 0) await delay(waitMs)
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
    await Promise.race([closed, delay(lastPagesMs, undefined, { ref: false })])
    this.#server.closeAllConnections()
    await closed
  }
}
