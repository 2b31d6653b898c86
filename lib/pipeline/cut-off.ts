import { Socket } from 'node:net'
import type { ServerResponse } from 'node:http'

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
