import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Certificate } from '../listener/certificate.ts'
import type { Listen } from '../config/config.ts'
import type { WriteError } from '../listener/broken-request.ts'
import {
  createHttpServer,
  listenOn,
  renewCertificate,
  urlOf,
  writePlainly,
  type ServerBounds,
} from '../listener/http-server.ts'

const bounds: ServerBounds = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsMax: 2000,
}
/** For pages that are being made when the end begins. */
const lastPagesMs = 5000

/** The account area's own port: no request of the API comes in here. */
export class Listener {
  readonly #server: Server
  #closed: Promise<void> | undefined

  /**
   * @param ownerOf whose connections have their turn together
   * @param onUnreadable told of a request that is no HTTP, or too long
   */
  constructor(
    certificate: Certificate | undefined,
    ownerOf: (socket: Socket) => unknown,
    handle: RequestListener,
    onUnreadable: (status: number) => void,
  ) {
    const writeError: WriteError = (socket, error, status) => {
      onUnreadable(status)
      writePlainly(socket, error, status)
    }
    this.#server = createHttpServer({ bounds, certificate, ownerOf, handle, writeError })
  }

  /** Answers where it listens. */
  async listen(address: Listen): Promise<URL> {
    await listenOn(this.#server, address)
    return new URL(urlOf(this.#server))
  }

  /** Shows this certificate from the next connection on. */
  renew(certificate: Certificate | undefined): void {
    renewCertificate(this.#server, certificate)
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
