import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Certificate } from '../certificate.ts'
import type { Listen } from '../config/config.ts'
import { servedMethods } from '../cors.ts'
import { GatewayError } from '../errors.ts'
import { nodeHttp } from '../node-http.ts'
import { answerBrokenRequest, type WriteError } from './broken-request.ts'
import { framingProblem } from './framing-problem.ts'
import { PipelinedRequests } from './pipelined-requests.ts'
import { hasOddLine } from './request-line.ts'

/** Bounds on who sends slowly or opens much; times in milliseconds. */
export interface ServerBounds {
  readonly headersTimeout: number
  /** For a request with its body, in all. */
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  readonly connectionsMax: number
}

export interface HttpServerOptions {
  readonly bounds: ServerBounds
  /** It speaks TLS with it. */
  readonly certificate?: Certificate | undefined
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Refuses a request in the listener's own format; plain text unless said. */
  readonly refuse?: (request: IncomingMessage, response: ServerResponse, error: GatewayError) => void
  /** Writes an error where there is no request that could be answered; plain text unless said. */
  readonly writeError?: WriteError
  /** WebSockets; any other upgrade is ignored, as RFC 9110 section 7.8 allows. */
  readonly upgrades?: {
    accepts(request: IncomingMessage): boolean
    /** @param response for what is said in place of the upgrade */
    handle(request: IncomingMessage, socket: Duplex, head: Buffer, response: ServerResponse): void
  }
  /** `handle` says "100 Continue" itself, or does not. */
  readonly isContinuing?: boolean
}

/**
 * A server as each of our listeners is one. Refused before anything is done for them: requests that two servers could
 * read in two ways, behind which nothing of their connection is read; slow and broken ones; other protocols. Pipelined
 * requests have their turns.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { handle, refuse = refusePlainly, writeError = writePlainly, upgrades } = options
  /** Connections of which no more is read: what follows may be the hidden half of what came before. */
  const distrusted = new WeakSet<Socket>()
  /** The response to the last request of each connection. */
  const last = new WeakMap<Duplex, ServerResponse>()
  /** Connections with something that is no request, behind which nothing can be read. */
  const broken = new WeakSet<Duplex>()
  const requests = new PipelinedRequests((request, response, problem) => {
    if (problem === undefined) handle(request, response)
    else refuse(request, response, new GatewayError('request_invalid', problem))
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    if (distrusted.has(socket)) return
    const problem = problemOf(request)
    // What follows an upgrade that is ignored may be meant for another protocol, and is no request.
    if (problem !== undefined || request.headers.upgrade !== undefined) {
      distrusted.add(socket)
      response.shouldKeepAlive = false
    }
    last.set(socket, response)
    requests.take(request, response, problem)
  }
  const settings = {
    ...options.bounds,
    // Node's own is half a minute, in which all connections are anybody's who says nothing.
    connectionsCheckingInterval: 1000,
    // Its own answer to a request without a Host has no body and leaves the connection open.
    requireHostHeader: false,
    shouldUpgradeCallback: (request: IncomingMessage) =>
      upgrades?.accepts(request) === true && problemOf(request) === undefined,
  }
  const { certificate } = options
  const server =
    certificate === undefined
      ? nodeHttp.createServer(settings, onRequest)
      : createHttpsServer({ ...settings, ...certificate }, onRequest)
  server.maxConnections = options.bounds.connectionsMax
  if (options.isContinuing === true) server.on('checkContinue', onRequest)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    refuse(
      request,
      response,
      new GatewayError('request_invalid', 'Only "Expect: 100-continue" is understood.'),
    )
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades?.handle(request, socket, head, responseOn(request, socket as Socket))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const error = new GatewayError('method_not_allowed', 'CONNECT is not possible here.', {
      details: { allow: servedMethods },
    })
    writeError(socket, error, error.status)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Each segment that follows is told of, too.
    if (broken.has(socket)) return
    broken.add(socket)
    answerBrokenRequest(error, socket, last.get(socket), writeError)
  })
  return server
}

/** Starts to listen, and answers where. */
export async function listenOn(server: Server, { host, port }: Listen): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return server.address() as AddressInfo
}

/** Where a server listens, as it is written in addresses: `http://127.0.0.1:9090`. */
export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return `${server instanceof HttpsServer ? 'https' : 'http'}://${host}:${port}`
}

/** Connections from now on are shown this certificate. */
export function renewCertificate(server: Server, certificate: Certificate | undefined): void {
  if (certificate !== undefined && server instanceof HttpsServer) server.setSecureContext(certificate)
}

function problemOf(request: IncomingMessage): string | undefined {
  const problem = framingProblem(request)
  if (problem !== undefined) return problem
  return hasOddLine(request)
    ? 'The first line of a request is its method, its target and HTTP/1.1, with one blank between them.'
    : undefined
}

/** An upgrade has the socket in place of a response. */
function responseOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new nodeHttp.ServerResponse(request)
  response.assignSocket(socket)
  response.shouldKeepAlive = false
  socket.on('error', () => undefined) // The close that follows is what counts.
  response.once('finish', () => socket.destroySoon())
  return response
}

function refusePlainly(_request: IncomingMessage, response: ServerResponse, error: GatewayError): void {
  const body = Buffer.from(`${error.message}\n`)
  response.writeHead(error.status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    connection: 'close',
  })
  response.end(body)
}

const writePlainly: WriteError = (socket, error, status) => {
  const body = `${error.message}\n`
  socket.end(
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n` +
      (status === 405 ? `allow: ${servedMethods}\r\n` : '') +
      `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\n\r\n${body}`,
  )
}
