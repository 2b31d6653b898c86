import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { answerError, asGatewayError } from './answer-error.ts'
import { readCertificate, type Certificate } from './certificate.ts'
import type { Config } from './config/config.ts'
import { answerPreflight, corsHeaders } from './cors.ts'
import { Drain, type DrainOptions } from './drain.ts'
import { GatewayError, ShutDownError } from './errors.ts'
import { findRoute, guessDialect } from './find-route.ts'
import { checkFraming } from './http/headers.ts'
import type { Clock } from './clock.ts'
import { newId } from './new-id.ts'
import { nodeHttp } from './node-http.ts'
import type { Overload } from './overload/overload.ts'
import type { PipelineBus } from './pipeline/events.ts'
import { Exchange } from './pipeline/exchange.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import { PipelinedRequests } from './pipelined-requests.ts'
import { answerBrokenRequest, refuseConnect } from './raw-answer.ts'
import { ClientSocket } from './websocket/client-socket.ts'

/** How long an idle connection is kept: longer than the balancers in front of us keep theirs. */
const keepAliveMs = 75_000
/** How long an upload that streams through may take in all. */
const uploadMsMax = 3_600_000
/** One alarm tells of as many connections as failed in this time. */
const acceptErrorsApartMs = 10_000
const methodsWithoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
/** Paths on which a WebSocket may be asked for; everything else that says `Upgrade` is a plain request. */
const webSocketPaths = /^(?:\/[a-z0-9._-]+)?\/(?:v1\/responses(?:\?|$)|v1\/realtime(?:[/?]|$)|\/?ws\/)/

/** What answers requests now; a reload puts another in its place while old exchanges finish on theirs. */
export interface Serving {
  readonly config: Config
  readonly pipeline: Pipeline
}

export interface GatewayServerOptions {
  readonly clock: Clock
  readonly overload: Pick<Overload, 'admit'>
  readonly bus: PipelineBus
  /** Counts what sessions hold of half-read messages: more bytes, or fewer. May throw. */
  readonly holdBytes: (bytes: number) => void
}

/** The raw HTTP face: checks what no plugin should ever see, and makes an exchange of every request. */
export class GatewayServer {
  #serving: Serving
  /** Pipelines that a reload replaced and that still have exchanges open. */
  readonly #retired = new Set<Pipeline>()
  readonly #options: GatewayServerOptions
  readonly #server: Server
  /** Connections on which a request was refused that two servers could read in two ways. */
  readonly #distrusted = new WeakSet<Duplex>()
  readonly #drain: Drain
  #lastAcceptErrorAt = Number.NEGATIVE_INFINITY

  constructor(serving: Serving, options: GatewayServerOptions) {
    this.#serving = serving
    this.#options = options
    this.#server = createServer(serving.config)
    const requests = new PipelinedRequests((request, response) => this.#accept(request, response))
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      requests.take(request, response)
    this.#server.on('request', onRequest)
    this.#server.on('checkContinue', onRequest)
    this.#server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const error = new GatewayError('request_invalid', 'Only "Expect: 100-continue" is understood.')
      answerError(response, guessDialect(request.url ?? '', request.rawHeaders), error, newId())
    })
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    )
    this.#server.on('connect', refuseConnect)
    this.#server.on('clientError', answerBrokenRequest)
    this.#drain = new Drain(this.#server, {
      count: () => this.openExchangeCount,
      windUp: () => {
        for (const pipeline of this.#pipelines()) pipeline.windUp(shutDown)
      },
      cutAll: () => {
        for (const pipeline of this.#pipelines()) pipeline.cutAll(shutDown)
      },
    })
  }

  get openExchangeCount(): number {
    // The common case is read for every request.
    if (this.#retired.size === 0) return this.#serving.pipeline.openExchangeCount
    return this.#pipelines().reduce((sum, pipeline) => sum + pipeline.openExchangeCount, 0)
  }

  async listen(): Promise<AddressInfo> {
    const { host, port } = this.#serving.config.listen
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        this.#server.on('error', error => this.#onAcceptError(error))
        resolve()
      })
    })
    return this.#server.address() as AddressInfo
  }

  /**
   * New requests meet this from now on; open exchanges end on the pipeline they began on. Connections from
   * now on are shown the certificate, which may have been renewed.
   */
  replace(serving: Serving, certificate: Certificate | undefined): void {
    const { pipeline } = this.#serving
    this.#serving = serving
    if (certificate !== undefined && this.#server instanceof HttpsServer)
      this.#server.setSecureContext(certificate)
    this.#retired.add(pipeline)
    void pipeline.stop().finally(() => this.#retired.delete(pipeline))
  }

  /**
   * Serves on for a while, then accepts nothing new, lets open exchanges end, and cuts those that are open at
   * the deadline. Called again, it brings the deadline nearer.
   */
  async close(options: DrainOptions): Promise<void> {
    await this.#drain.start(options)
    await Promise.all(this.#pipelines().map(pipeline => pipeline.stop()))
  }

  #pipelines(): Pipeline[] {
    return [this.#serving.pipeline, ...this.#retired]
  }

  /** No file descriptor was left for a connection, most likely. It is closed; those that are open go on. */
  #onAcceptError(error: Error): void {
    const { bus, clock } = this.#options
    const now = clock.now()
    if (now - this.#lastAcceptErrorAt < acceptErrorsApartMs) return
    this.#lastAcceptErrorAt = now
    bus.emit('alarm', 'accept_failed', { error: error.message })
  }

  #accept(request: IncomingMessage, response: ServerResponse): void {
    // It may be the hidden half of the one before it; the connection closes with that one's answer.
    if (this.#distrusted.has(request.socket)) return
    // What follows an upgrade that is ignored may be meant for another protocol, and is no request.
    if (request.headers.upgrade !== undefined) {
      this.#distrusted.add(request.socket)
      response.shouldKeepAlive = false
    }
    const { clock } = this.#options
    const { config, pipeline } = this.#serving
    // It would take "100 Continue" for the answer (RFC 9110 section 10.1.1).
    if (request.httpVersion === '1.0') delete request.headers.expect
    const exchange = new Exchange(newId(), request, response, clock.now())
    if (this.#drain.phase !== 'serving') exchange.response.shouldKeepAlive = false
    try {
      this.#admit(exchange)
      const cors = corsHeaders(request, config.cors.origins)
      exchange.extraHeaders.push(...cors)
      if (request.method === 'OPTIONS') return answerPreflight(response, cors, exchange.id)
      this.#route(exchange, config)
    } catch (error) {
      this.#refuse(exchange, error)
      return
    }
    void pipeline.run(exchange)
  }

  /** An upgrade has the socket in place of a response, so that one is made for what is said before it. */
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { config, pipeline } = this.#serving
    // Google's SDK joins a base URL of its own making, which ends in a slash, with a path that begins with one.
    request.url = request.url?.replace(/^\/\/ws\//, '/ws/')
    const response = new nodeHttp.ServerResponse(request)
    response.assignSocket(socket as Socket)
    response.shouldKeepAlive = false
    socket.on('error', () => undefined) // The close that follows is what counts.
    response.once('finish', () => (socket as Socket).destroySoon())
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

  /** @throws GatewayError overloaded, request_invalid */
  #admit(exchange: Exchange): void {
    if (this.#drain.phase === 'closing') throw shutDown(exchange)
    this.#options.overload.admit()
    this.#checkRequest(exchange.request, exchange.response)
  }

  #route(exchange: Exchange, { providers }: Config): void {
    const { method = '', url = '', rawHeaders } = exchange.request
    exchange.set('route', findRoute(method, url, rawHeaders, providers))
  }

  #refuse(exchange: Exchange, error: unknown): void {
    const { bus } = this.#options
    const { request, response } = exchange
    bus.emit('exchange-start', exchange)
    const dialect = guessDialect(request.url ?? '', request.rawHeaders)
    answerError(response, dialect, asGatewayError(error), exchange.id, exchange.extraHeaders)
    bus.emit('exchange-end', exchange, { kind: 'refused', error: asGatewayError(error) })
  }

  /** @throws GatewayError request_invalid for a request that two servers could read in two ways */
  #checkRequest(request: IncomingMessage, response: ServerResponse): void {
    const reason = ambiguity(request)
    if (reason === undefined) return
    this.#distrusted.add(request.socket)
    response.shouldKeepAlive = false
    throw new GatewayError('request_invalid', reason)
  }
}

/** What an exchange is told that a shutdown ends: to ask again, unless its provider may be at work on it. */
function shutDown(exchange: Exchange): GatewayError {
  return exchange.wasSent
    ? new ShutDownError()
    : new GatewayError('overloaded', 'The gateway is shutting down. Try again soon.', {
        retryAfterSeconds: 2,
      })
}

function ambiguity(request: IncomingMessage): string | undefined {
  const { method = '', headers, httpVersion } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 and HTTP/1.0 are spoken here.'
  if (headers.host === undefined && httpVersion !== '1.0') return 'The request has no Host.'
  const isChunked = headers['transfer-encoding'] !== undefined
  // What comes before us may pass such a body on without knowing where it ends (RFC 9112 section 6.1).
  if (isChunked && httpVersion === '1.0') return 'An HTTP/1.0 request may not have a Transfer-Encoding.'
  const hasBody = isChunked || Number(headers['content-length'] ?? 0) > 0
  // Google's SDKs send `{}` with every DELETE: no request fits into that.
  const isEmptyObject = method === 'DELETE' && headers['content-length'] === '2'
  if (hasBody && methodsWithoutBody.has(method) && !isEmptyObject) {
    return `A ${method} request may not have a body.`
  }
  return checkFraming(request.rawHeaders)
}

function createServer(config: Config): Server {
  const { limits } = config
  const certificate = readCertificate(config)
  const options = {
    keepAliveTimeout: keepAliveMs,
    headersTimeout: limits.headersMs,
    // Bodies have their own time where they are read; this bounds uploads, and bodies that nobody reads.
    requestTimeout: limits.headersMs + Math.max(limits.bodyMs, uploadMsMax),
    connectionsCheckingInterval: 1000,
    // Its own answer to a request without a Host has no body and leaves the connection open.
    requireHostHeader: false,
    // A WebSocket is accepted on known paths only; any other upgrade is ignored, as RFC 9110 section 7.8 allows.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      request.headers.upgrade?.toLowerCase() === 'websocket' && webSocketPaths.test(request.url ?? ''),
  }
  const server =
    certificate === undefined
      ? nodeHttp.createServer(options)
      : createHttpsServer({ ...options, ...certificate })
  server.maxConnections = limits.connectionsMax
  return server
}
