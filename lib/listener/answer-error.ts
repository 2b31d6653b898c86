import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dialect } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { endAfterBody } from '../pipeline/end-response.ts'
import { nodeHttp } from '../platform/node-http.ts'

/** The longest unread request body that is read so that the connection can be reused. */
const unreadBytesMax = 65_536

/**
 * The headers of an error response, flat: its ids, and whether SDKs may repeat the request. They may only where that
 * cannot bill twice.
 */
export function errorHeaders(dialect: Dialect, error: GatewayError, exchangeId: string): string[] {
  const headers = [
    'content-type',
    'application/json',
    'x-gateway-request-id',
    exchangeId,
    'x-request-id',
    exchangeId,
  ]
  const { retry } = error.row
  if (dialect.requestIdHeader !== 'x-request-id') headers.push(dialect.requestIdHeader, exchangeId)
  if (retry === 'no') headers.push('x-should-retry', 'false')
  if (retry === 'yes') headers.push('x-should-retry', 'true')
  if (retry === 'after') headers.push('retry-after', String(error.retryAfterSeconds ?? 1))
  const allow = error.code === 'method_not_allowed' ? error.details?.['allow'] : undefined
  if (allow !== undefined) headers.push('allow', String(allow))
  return headers
}

/** Responds with an error in a dialect's shape, so that its SDK raises its typed error. */
export function answerError(
  response: ServerResponse,
  dialect: Dialect,
  error: GatewayError,
  exchangeId: string,
  extraHeaders: readonly string[] = [],
): void {
  const body = Buffer.from(dialect.errorBody(error, exchangeId))
  const headers = errorHeaders(dialect, error, exchangeId)
  headers.push('content-length', String(body.length), ...extraHeaders)
  // RFC 9110 section 15.5.22: a 426 names the protocol to upgrade to.
  if (error.code === 'upgrade_refused') headers.push('connection', 'upgrade, close', 'upgrade', 'HTTP/1.1')
  if (error.code === 'upgrade_required') headers.push('connection', 'upgrade', 'upgrade', 'websocket')
  const isUnread = hasUnreadBody(response)
  if (isUnread) headers.push('connection', 'close')
  // The provider's reason phrase may be set already; for an empty one node:http uses its own.
  response.statusMessage = ''
  response.writeHead(error.status, headers)
  if (isUnread && mayReadOn(response, error)) endAfterBody(response, body)
  else response.end(body)
}

/** A client that waits for `100 Continue` will not send its body, and after ambiguous framing nothing may be read. */
function mayReadOn(response: ServerResponse, error: GatewayError): boolean {
  return response.req.headers.expect === undefined && error.code !== 'request_invalid'
}

/** node:http reads an unread body to its end before the next request; a long one is not worth it. */
function hasUnreadBody(response: ServerResponse): boolean {
  const { req: request } = response
  const { expect, 'content-length': length, 'transfer-encoding': coding } = request.headers
  // `complete` is also false for a request without a body while its own event is being emitted.
  if (request.complete || (length === undefined && coding === undefined)) return false
  return expect !== undefined || length === undefined || Number(length) > unreadBytesMax
}

/** Writes an error onto a socket that has no response object, and ends it. */
export type WriteError = (socket: Duplex, error: GatewayError, status: number) => void

/** The message for a request that could not be read, by the status of its response. */
const sentences = {
  400: 'the request is not HTTP/1.1 as RFC 9112 defines it.',
  408: 'the request came too slowly.',
  431: `the first line and the headers of a request may have ${nodeHttp.maxHeaderSize} bytes together. Send less of them.`,
} as const

/**
 * Responds to a request that node:http could not read and that has no response object: the response is written by hand,
 * after those to earlier requests on the connection. It replaces none of them, since they may be charged.
 * @param last the response to the last request of which at least the head could be read
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  last: ServerResponse | undefined,
  writeError: WriteError,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  if (last !== undefined && !last.writableFinished) {
    const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse }
    if (last.req.complete || current !== last) {
      const before = current ?? last
      before.once('finish', () => answerBrokenRequest(error, socket, last, writeError))
      return
    }
    // The broken request's body belongs to a response that has begun: nothing may be written into the middle of it.
    if (last.headersSent) {
      if (last.writableEnded) socket.end()
      else socket.destroy()
      return
    }
  }
  // Bytes after a request that closes the connection are ignored.
  if (error.code === 'HPE_CLOSED_CONNECTION') {
    socket.end()
    return
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const message = `${nodeHttp.STATUS_CODES[status]}: ${sentences[status]}`
  const code = status === 408 ? 'request_timeout' : 'request_invalid'
  writeError(socket, new GatewayError(code, message), status)
  // A client that keeps sending must not keep the socket open.
  socket.once('finish', () => socket.destroy())
}
