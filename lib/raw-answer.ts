import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorHeaders } from './answer-error.ts'
import { servedMethods } from './cors.ts'
import type { Dialect } from './dialects/dialect.ts'
import { GatewayError } from './errors.ts'
import { dialects } from './find-route.ts'
import { newId } from './new-id.ts'
import { nodeHttp } from './node-http.ts'

/** The gateway is no proxy for other hosts. */
export function refuseConnect(_request: IncomingMessage, socket: Duplex): void {
  const details = { allow: servedMethods }
  const error = new GatewayError('method_not_allowed', 'CONNECT is not possible here.', { details })
  writeError(socket, dialects.openai, error)
}

/** Requests that node:http could not read have no response object: the answer is written by hand. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  // As node:http's own handler does: nothing may be written into the middle of an answer.
  const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse }
  if (current?.headersSent === true) {
    if (current.writableEnded) socket.end()
    else socket.destroy()
    return
  }
  // The request before it came whole: its response is not replaced, since it may be paid for.
  if (current?.req.complete === true) {
    current.once('finish', () => answerBrokenRequest(error, socket))
    return
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const message = `${nodeHttp.STATUS_CODES[status]}: the request is not HTTP/1.1 as RFC 9112 defines it, or came too slowly.`
  const code = status === 408 ? 'request_timeout' : 'request_invalid'
  writeError(socket, dialects.openai, new GatewayError(code, message), status)
}

function writeError(socket: Duplex, dialect: Dialect, error: GatewayError, status = error.status): void {
  const exchangeId = newId()
  const body = dialect.errorBody(error, exchangeId)
  const headers = errorHeaders(dialect, error, exchangeId)
  headers.push('content-length', String(Buffer.byteLength(body)))
  headers.push('connection', 'close')
  let head = `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`
  socket.end(`${head}\r\n${body}`)
  // A client that goes on sending must not keep the socket.
  socket.once('finish', () => socket.destroy())
}
