import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** For how long, and how much of, an unwanted request body is read. */
const lingerMs = 2000
const lingerBytesMax = 256 * 1_048_576

/** Whether the request has a body that has not arrived in full. */
export function isBodyComing({ complete, headers }: IncomingMessage): boolean {
  // `complete` is also false for a request without a body while its own event is being emitted.
  return (
    !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
  )
}

/**
 * Writes the rest of a response, and ends it once the rest of the request body has arrived or a timeout has passed.
 * Closing a connection that has unread bytes sends a reset, which loses the response for a client that is still sending
 * (RFC 9112 section 9.6).
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
  // The previous reader may have paused it.
  request.resume()
  if (body !== undefined) response.write(body)
}

/** How long a last event may take to reach the kernel before the connection is cut anyway. */
const noticeTimeoutMs = 1000

/**
 * Ends an incomplete response with a reset, never with a clean end, so that a truncated response cannot pass for a
 * complete one. Bytes written before are passed to the kernel first.
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
    // TLS sockets cannot send a reset; without close_notify and the last chunk, the end is still not clean.
    if (socket instanceof Socket && !('encrypted' in socket)) socket.resetAndDestroy()
    else socket.destroy()
  }
  const timer = setTimeout(cut, noticeTimeoutMs)
  // The callback runs when the bytes have reached the kernel, or with the error that they never will.
  if (notice === undefined) socket.write('', cut)
  else response.write(notice, cut)
}
