import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** For how long, and how much of, a body that nobody wants is read. */
const lingerMs = 2000
const lingerBytesMax = 256 * 1_048_576

/** The request has a body of which some has not come yet. */
export function isBodyComing({ complete, headers }: IncomingMessage): boolean {
  // A request without a body is not complete either while its own event is on.
  return (
    !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
  )
}

/**
 * Writes the rest of an answer, and ends it when the rest of its request's body has come or after a while.
 * Closing a connection on which bytes are unread sends a reset, which takes the answer away from a client
 * that is still sending (RFC 9112 section 9.6).
 */
export function endAfterBody(response: ServerResponse, body: Buffer | undefined): void {
  const { req: request } = response
  let byteCount = 0
  const onData = (chunk: Buffer): void => {
    byteCount += chunk.length
    if (byteCount > lingerBytesMax) end()
  }
  const end = (): void => {
    clearTimeout(timer)
    request.off('data', onData)
    request.off('end', end)
    request.off('close', end)
    response.end()
  }
  const timer = setTimeout(end, lingerMs)
  request.on('data', onData)
  request.once('end', end)
  request.once('close', end)
  // Whoever read it before may have paused it.
  request.resume()
  if (body !== undefined) response.write(body)
}

/** How long a last event may take to reach the kernel before the connection is cut anyway. */
const noticeTimeoutMs = 1000

/**
 * Ends an answer that is not whole with a reset, never with a clean end: a truncated answer must not pass
 * for a complete one. What was written before it is handed to the kernel first.
 */
export function cutOff(response: ServerResponse, notice: Buffer | undefined): void {
  const { socket } = response
  if (socket === null) {
    response.destroy()
    return
  }
  let isCut = false
  const cut = (): void => {
    if (isCut) return
    isCut = true
    clearTimeout(timer)
    // TLS sockets cannot send a reset; without close_notify and the last chunk the end is not clean either.
    if (socket instanceof Socket && !('encrypted' in socket)) socket.resetAndDestroy()
    else socket.destroy()
  }
  const timer = setTimeout(cut, noticeTimeoutMs)
  // The callback comes when the bytes have left for the kernel, or with the error that they never will.
  if (notice === undefined) socket.write('', cut)
  else response.write(notice, cut)
}
