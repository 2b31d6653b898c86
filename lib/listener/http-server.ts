import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Certificate } from './certificate.ts'
import type { Listen } from '../config/config.ts'
import { servedMethods } from './cors.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { nodeHttp } from '../platform/node-http.ts'
import { answerBrokenRequest, type WriteError } from './answer-error.ts'
import { ConnectionReader, type Segment } from './connection-reader.ts'
import { checkFraming } from '../http/headers.ts'

/** Limits on slow clients and on open connections; times in milliseconds. */
export interface ServerBounds {
  readonly headersTimeout: number
  /** For a whole request with its body. */
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  readonly connectionsMax: number
}

interface HttpServerOptions {
  readonly bounds: ServerBounds
  /** Serves TLS with this certificate; plain HTTP without one. */
  readonly certificate?: Certificate | undefined
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Refuses a request in the listener's own format; plain text by default. */
  readonly refuse?: (request: IncomingMessage, response: ServerResponse, error: GatewayError) => void
  /** Writes an error where there is no request to respond to; plain text by default. */
  readonly writeError?: WriteError
  /** WebSockets; any other upgrade is ignored, as RFC 9110 section 7.8 allows. */
  readonly upgrades?: {
    accepts(request: IncomingMessage): boolean
    /** @param response for a refusal instead of the upgrade */
    handle(request: IncomingMessage, socket: Duplex, head: Buffer, response: ServerResponse): void
  }
  /**
   * Groups connections by owner: while more arrives than can be read at once, owners are served one after another.
   * Absent where reading may not wait.
   */
  readonly ownerOf?: (socket: Socket) => unknown
  /** `handle` decides itself whether to send "100 Continue". */
  readonly isContinuing?: boolean
}

/**
 * Creates the server of each of our listeners. It refuses, before any work is done: requests that two servers could
 * read in two ways, after which nothing on their connection is read; slow and malformed ones; other protocols.
 * Connections are read in turns.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { handle, refuse = refusePlainly, upgrades, ownerOf, certificate } = options
  const readers: Readers = new WeakMap()
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const reader = readers.get(request.socket)
    if (reader === undefined || reader.isDistrusted) return
    const problem = problemOf(request, reader)
    // The bytes after an ignored upgrade may belong to another protocol, and are not read as a request.
    if (problem !== undefined || request.headers.upgrade !== undefined) {
      reader.isDistrusted = true
      response.shouldKeepAlive = false
      // A response with "connection: upgrade" would keep it open.
      response.once('finish', () => request.socket.destroySoon())
    }
    reader.begin(response)
    if (problem === undefined) handle(request, response)
    else refuse(request, response, new GatewayError('request_invalid', problem))
  }
  const settings = {
    ...options.bounds,
    // Node's default is half a minute, during which silent clients could hold all connections.
    connectionsCheckingInterval: 1000,
    // Node's own response to a request without a Host has no body and leaves the connection open.
    requireHostHeader: false,
    shouldUpgradeCallback(request: IncomingMessage): boolean {
      const reader = readers.get(request.socket)
      // While an earlier response is unfinished, the connection cannot switch to another protocol.
      if (reader === undefined || reader.isPending) return false
      return upgrades?.accepts(request) === true && problemOf(request, reader) === undefined
    },
  }
  const server =
    certificate === undefined
      ? nodeHttp.createServer(settings, onRequest)
      : createHttpsServer({ ...settings, ...certificate }, onRequest)
  server.maxConnections = options.bounds.connectionsMax
  server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
    readers.set(socket, new ConnectionReader(socket, ownerOf === undefined ? null : ownerOf(socket))),
  )
  if (options.isContinuing === true) server.on('checkContinue', onRequest)
  watchProtocol(server, readers, { ...options, refuse })
  return server
}

type Readers = WeakMap<Duplex, ConnectionReader>

/** Responds to requests that are not ours, and to bytes that are not a request. */
function watchProtocol(
  server: Server,
  readers: Readers,
  {
    refuse,
    writeError = writePlainly,
    upgrades,
  }: Pick<HttpServerOptions, 'writeError' | 'upgrades'> & Required<Pick<HttpServerOptions, 'refuse'>>,
): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    refuse(
      request,
      response,
      new GatewayError('request_invalid', 'Only "Expect: 100-continue" is understood.'),
    )
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const all = readers.get(socket)?.detach(head) ?? head
    upgrades?.handle(request, socket, all, responseOn(request, socket as Socket))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    readers.get(socket)?.detach(noBytes)
    const error = new GatewayError('method_not_allowed', 'CONNECT is not possible here.', {
      details: { allow: servedMethods },
    })
    writeError(socket, error, error.status)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const reader = readers.get(socket)
    // Node emits this event again for each following segment.
    if (reader?.isBroken === true) return
    if (reader !== undefined) reader.isBroken = true
    answerBrokenRequest(error, socket, reader?.last, writeError)
  })
}

const noBytes = Buffer.alloc(0)

/** Starts to listen, and returns the address. */
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

/** The address of a listening server as a URL: `http://127.0.0.1:9090`. */
export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return `${server instanceof HttpsServer ? 'https' : 'http'}://${host}:${port}`
}

/** Uses this certificate for new connections. */
export function renewCertificate(server: Server, certificate: Certificate | undefined): void {
  if (certificate !== undefined && server instanceof HttpsServer) server.setSecureContext(certificate)
}

const methodsWithoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
/** node:http reports the first thousand headers and silently drops the rest. */
const rawHeadersMax = 2000

/** Why two servers could read a request in two ways, as a sentence; undefined when they could not. */
function framingProblem(request: IncomingMessage): string | undefined {
  const { method = '', headers, rawHeaders, httpVersion } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 and HTTP/1.0 are spoken here.'
  if (rawHeaders.length >= rawHeadersMax) return `The request has ${rawHeadersMax / 2} headers or more.`
  if (headers.host === undefined && httpVersion !== '1.0') return 'The request has no Host.'
  const isChunked = headers['transfer-encoding'] !== undefined
  // A proxy in front of us may relay such a body without knowing where it ends (RFC 9112 section 6.1).
  if (isChunked && httpVersion === '1.0') return 'An HTTP/1.0 request may not have a Transfer-Encoding.'
  const hasBody = isChunked || Number(headers['content-length'] ?? 0) > 0
  // Google's SDKs send `{}` with every DELETE: two bytes are too short to hide a request.
  const isEmptyObject = method === 'DELETE' && headers['content-length'] === '2'
  if (hasBody && methodsWithoutBody.has(method) && !isEmptyObject)
    return `A ${method} request may not have a body.`
  return checkFraming(rawHeaders)
}

/** The versions that node:http accepts. */
const version = /^(?:HTTP|RTSP|ICE)\/\d\.\d\r?\n/
const versionBytesMax = 12
const [blank, carriageReturn, lineFeed] = [0x20, 0x0d, 0x0a]

/**
 * Whether a request's first line deviates from RFC 9112 section 3 although node:http accepts it: with more than one
 * space between its parts, or as RTSP or ICE. A server in front may have read another target in it. A line that is
 * split between two segments is not checked: servers in front of the gateway write each line at once.
 */
function hasOddLine({ method = '', url = '', httpVersion }: IncomingMessage, segment: Segment): boolean {
  const { bytes } = segment
  const line = `${method} ${url} HTTP/${httpVersion}\r\n`
  // Nearly always the segment is exactly one request.
  const begin = segment.at === 0 ? firstOfLine(bytes) : segment.at
  const plainAt = isAt(bytes, begin, line) ? begin : bytes.indexOf(line, begin, 'latin1')
  if (plainAt >= 0) segment.at = plainAt + line.length
  if (plainAt === begin) return false
  return hasSpreadLine(bytes.subarray(begin, plainAt < 0 ? bytes.length : plainAt), method, url)
}

/** Empty lines may precede a request (RFC 9112 section 2.2). */
function firstOfLine(bytes: Buffer): number {
  let at = 0
  while (bytes[at] === carriageReturn || bytes[at] === lineFeed) at += 1
  return at
}

function isAt(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}

/** Whether such a line is present, with any number of spaces and any version. */
function hasSpreadLine(bytes: Buffer, method: string, url: string): boolean {
  for (let start = bytes.indexOf(`${method} `); start >= 0; start = bytes.indexOf(`${method} `, start + 1)) {
    let at = start + method.length
    while (bytes[at] === blank) at += 1
    if (bytes[at + url.length] !== blank || !isAt(bytes, at, url)) continue
    at += url.length
    while (bytes[at] === blank) at += 1
    if (version.test(bytes.toString('latin1', at, at + versionBytesMax))) return true
  }
  return false
}

function problemOf(request: IncomingMessage, reader: ConnectionReader | undefined): string | undefined {
  const problem = framingProblem(request)
  if (problem !== undefined || reader?.segment === undefined) return problem
  return hasOddLine(request, reader.segment)
    ? 'The first line of a request is its method, its target and HTTP/1.1, with one blank between them.'
    : undefined
}

/** An upgrade request comes with its socket and without a response object. */
function responseOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new nodeHttp.ServerResponse(request)
  response.assignSocket(socket)
  response.shouldKeepAlive = false
  socket.on('error', () => undefined) // The close event that follows is handled.
  response.once('finish', () => socket.destroySoon())
  return response
}

/** For responses that are not pages: prevents caching and content sniffing. */
export const plainHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

function refusePlainly(_request: IncomingMessage, response: ServerResponse, error: GatewayError): void {
  const body = Buffer.from(`${error.message}\n`)
  response.writeHead(error.status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    ...plainHeaders,
    connection: 'close',
  })
  response.end(body)
}

/** Writes an error as a line of text. */
export const writePlainly: WriteError = (socket, error, status) => {
  const body = `${error.message}\n`
  socket.end(
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n` +
      (status === 405 ? `allow: ${servedMethods}\r\n` : '') +
      `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      Object.entries(plainHeaders)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('') +
      `connection: close\r\n\r\n${body}`,
  )
}
