import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../pipeline/errors.ts'
import { nodeHttp } from '../platform/node-http.ts'

/** Writes an error onto a socket that has no response object, and ends it. */
export type WriteError = (socket: Duplex, error: GatewayError, status: number) => void

/** What is wrong with a request, by the status of its answer. */
const sentences = {
  400: 'the request is not HTTP/1.1 as RFC 9112 defines it.',
  408: 'the request came too slowly.',
  431: `the first line and the headers of a request may have ${nodeHttp.maxHeaderSize} bytes together. Send less of them.`,
} as const

/**
 * Requests that node:http could not read have no response object: the answer is written by hand, behind those to the
 * requests before it, none of which it replaces, since they may be paid for.
 * @param last the response to the last request that could be read, if only its head
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
    // Its own body is broken, and nothing may be written into the middle of its response.
    if (last.headersSent) {
      if (last.writableEnded) socket.end()
      else socket.destroy()
      return
    }
  }
  // What comes behind a request that closes the connection is nobody's.
  if (error.code === 'HPE_CLOSED_CONNECTION') {
    socket.end()
    return
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const message = `${nodeHttp.STATUS_CODES[status]}: ${sentences[status]}`
  const code = status === 408 ? 'request_timeout' : 'request_invalid'
  writeError(socket, new GatewayError(code, message), status)
  // A client that goes on sending must not keep the socket.
  socket.once('finish', () => socket.destroy())
}
