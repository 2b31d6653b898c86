import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { answerError, errorHeaders, type WriteError } from './answer-error.ts'
import { asGatewayError } from '../ledger/as-gateway-error.ts'
import { readCertificate, type Certificate } from './certificate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { answerPreflight, corsHeaders } from './cors.ts'
import { Drain, type DrainOptions } from './drain.ts'
import { GatewayError, ShutDownError } from '../pipeline/errors.ts'
import { findRoute, guessDialect, dialects } from '../routes/find-route.ts'
import { addressList, ownerOfConnection } from '../http/client-address.ts'
import { createHttpServer, listenOn, renewCertificate } from './http-server.ts'
import { newId } from '../platform/new-id.ts'
import type { Overload } from '../overload/overload.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import { Exchange } from '../pipeline/exchange.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { ClientSocket } from '../websocket/client-socket.ts'
import { nodeHttp } from '../platform/node-http.ts'

/** How long an idle connection is kept: longer than load balancers in front of us keep theirs. */
const keepAliveMs = 75_000
/** How long a streamed upload may take in all. */
const uploadMsMax = 3_600_000
/** Failures within this time share one alarm, which counts them. */
const acceptErrorsApartMs = 10_000
/** Paths on which a WebSocket may be requested. */
const webSocketPaths = /^(?:\/[a-z0-9._-]+)?\/(?:v1\/responses(?:\?|$)|v1\/realtime(?:[/?]|$)|\/?ws\/)/

/** What handles requests now; a reload replaces it while earlier exchanges finish on their own. */
interface Serving {
  readonly config: Config
  readonly pipeline: Pipeline
}

interface GatewayServerOptions {
  readonly clock: Clock
  readonly overload: Pick<Overload, 'admit'>
  readonly bus: PipelineBus
  /** Counts the bytes of half-read session messages: positive to add, negative to subtract. May throw. */
  readonly holdBytes: (bytes: number) => void
}

/** Writes an error for a request whose dialect is unknown: in the format that most clients read. */
const writeRawError: WriteError = (socket, error, status) => {
  const exchangeId = newId()
  const body = dialects.openai.errorBody(error, exchangeId)
  const headers = errorHeaders(dialects.openai, error, exchangeId)
  headers.push('content-length', String(Buffer.byteLength(body)))
  headers.push('connection', 'close')
  let head = `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`
  socket.end(`${head}\r\n${body}`)
}

/** The gateway's HTTP listener: makes an exchange of every request. */
export class GatewayServer {
  #serving: Serving
  #trustedProxies: ReturnType<typeof addressList>
  /** Pipelines that a reload has replaced and that still have open exchanges. */
  readonly #retired = new Set<Pipeline>()
  readonly #options: GatewayServerOptions
  readonly #server: Server
  readonly #drain: Drain
  #lastAcceptErrorAt = Number.NEGATIVE_INFINITY

  constructor(serving: Serving, options: GatewayServerOptions) {
    this.#serving = serving
    this.#trustedProxies = addressList(serving.config.trustedProxies)
    this.#options = options
    this.#server = this.#createServer(serving.config)
    this.#drain = new Drain(this.#server, {
      count: () => this.openExchangeCount,
      drain: () => {
        for (const pipeline of this.#pipelines()) pipeline.drain(shutDown)
      },
      cutAll: () => {
        for (const pipeline of this.#pipelines()) pipeline.cutAll(shutDown)
      },
    })
  }

  get openExchangeCount(): number {
    // The common case, checked first: this runs for every request.
    if (this.#retired.size === 0) return this.#serving.pipeline.openExchangeCount
    return this.#pipelines().reduce((sum, pipeline) => sum + pipeline.openExchangeCount, 0)
  }

  async listen(): Promise<AddressInfo> {
    const address = await listenOn(this.#server, this.#serving.config.listen)
    this.#server.on('error', error => this.#onAcceptError(error))
    return address
  }

  /**
   * Sends new requests to this pipeline from now on; open exchanges end on the pipeline they began on. New connections
   * use the certificate, which may have been renewed.
   */
  replace(serving: Serving, certificate: Certificate | undefined): void {
    const { pipeline } = this.#serving
    this.#serving = serving
    this.#trustedProxies = addressList(serving.config.trustedProxies)
    renewCertificate(this.#server, certificate)
    this.#retired.add(pipeline)
    void pipeline.stop().finally(() => this.#retired.delete(pipeline))
  }

  /**
   * Serves for a while, then accepts nothing new, lets open exchanges end, and cuts those still open at the deadline.
   * Called again, it brings the deadline nearer.
   */
  async close(options: DrainOptions): Promise<void> {
    await this.#drain.start(options)
    await Promise.all(this.#pipelines().map(pipeline => pipeline.stop()))
  }

  #pipelines(): Pipeline[] {
    return [this.#serving.pipeline, ...this.#retired]
  }

  /**
   * A connection could not be accepted, usually because no file descriptor is left. Open connections are unaffected.
   */
  #onAcceptError(error: Error): void {
    const { bus, clock } = this.#options
    const now = clock.now()
    if (now - this.#lastAcceptErrorAt < acceptErrorsApartMs) return
    this.#lastAcceptErrorAt = now
    bus.emit('alarm', 'accept_failed', { error })
  }

  #accept(request: IncomingMessage, response: ServerResponse): void {
    const { config, pipeline } = this.#serving
    // An HTTP/1.0 client would take "100 Continue" for the response (RFC 9110 section 10.1.1).
    if (request.httpVersion === '1.0') delete request.headers.expect
    const exchange = new Exchange(newId(), request, response, this.#options.clock.now())
    if (this.#drain.phase !== 'serving') exchange.response.shouldKeepAlive = false
    try {
      this.#admit(exchange)
      const cors =
        request.headers.origin === undefined ? [] : corsHeaders(request.headers.origin, config.cors.origins)
      exchange.extraHeaders.push(...cors)
      if (request.method === 'OPTIONS') return answerPreflight(response, cors, exchange.id)
      this.#route(exchange, config)
    } catch (error) {
      this.#refuse(exchange, error)
      return
    }
    void pipeline.run(exchange)
  }

  /** @param response for a refusal instead of the upgrade */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, response: ServerResponse): void {
    const { config, pipeline } = this.#serving
    // Google's SDK joins its own base URL, which ends in a slash, with a path that starts with one.
    request.url = request.url?.replace(/^\/\/ws\//, '/ws/')
    const exchange = new Exchange(newId(), request, response, this.#options.clock.now())
    try {
      this.#admit(exchange)
      this.#route(exchange, config)
      exchange.isConnection = exchange.get('route').match.operation.turns !== undefined
      const { messageBytesMax } = config.limits.session
      const onHeld = (bytes: number): void => this.#options.holdBytes(bytes)
      exchange.set('client', new ClientSocket(request, socket, head, { messageBytesMax, onHeld }))
    } catch (error) {
      this.#refuse(exchange, error)
      return
    }
    void pipeline.runSession(exchange)
  }

  /** @throws GatewayError overloaded */
  #admit(exchange: Exchange): void {
    if (this.#drain.phase === 'closing') throw shutDown(exchange)
    this.#options.overload.admit()
  }

  #route(exchange: Exchange, { providers }: Config): void {
    const { method = '', url = '', rawHeaders } = exchange.request
    exchange.set('route', findRoute(method, url, rawHeaders, providers))
  }

  #refuse(exchange: Exchange, error: unknown): void {
    const { bus } = this.#options
    const { request, response } = exchange
    const dialect = guessDialect(request.url ?? '', request.rawHeaders)
    answerError(response, dialect, asGatewayError(error), exchange.id, exchange.extraHeaders)
    bus.emit('exchange-end', exchange, { kind: 'refused', error: asGatewayError(error) })
  }

  #createServer(config: Config): Server {
    const { limits } = config
    return createHttpServer({
      certificate: readCertificate(config),
      bounds: {
        keepAliveTimeout: keepAliveMs,
        headersTimeout: limits.headersMs,
        // Request bodies have their own timeout where they are read; this one limits uploads, and bodies that are not
        // read.
        requestTimeout: limits.headersMs + Math.max(limits.bodyMs, uploadMsMax),
        connectionsMax: limits.connectionsMax,
      },
      isContinuing: true,
      handle: (request, response) => this.#accept(request, response),
      ownerOf: socket => ownerOfConnection(socket, this.#trustedProxies),
      refuse: (request, response, error) =>
        this.#refuse(new Exchange(newId(), request, response, this.#options.clock.now()), error),
      writeError: writeRawError,
      upgrades: {
        accepts: ({ headers, url = '' }) =>
          headers.upgrade?.toLowerCase() === 'websocket' && webSocketPaths.test(url),
        handle: (request, socket, head, response) => this.#upgrade(request, socket, head, response),
      },
    })
  }
}

/** The error for an exchange that a shutdown ends: to retry, unless its provider may have started work. */
function shutDown(exchange: Exchange): GatewayError {
  return exchange.wasSent
    ? new ShutDownError()
    : new GatewayError('overloaded', 'The gateway is shutting down. Try again soon.', {
        retryAfterSeconds: 2,
      })
}
