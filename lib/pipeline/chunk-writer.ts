import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** From so many bytes on a copy costs more than pieces that are written together. */
const copiedBytesMax = 8192
const carriageReturn = 0x0d
const lineFeed = 0x0a
const lineEnd = '\r\n'

/**
 * Where the chunks of a response can be written whose head and first chunk were; undefined while those have not left,
 * as behind another response of the connection, and for a response that is not chunked.
 */
export function chunkSocket({ socket, chunkedEncoding, writableLength }: ServerResponse): Socket | undefined {
  return socket !== null && chunkedEncoding && writableLength === 0 ? socket : undefined
}

/**
 * Writes bytes as one chunk of a chunked response (RFC 9112 section 7.1), framing and all in one piece: node:http
 * writes four, in a turn of their own.
 * @returns false when the client should be waited for
 */
export function writeChunk(socket: Socket, bytes: readonly Buffer[]): boolean {
  let length = 0
  for (const piece of bytes) length += piece.length
  const digits = length.toString(16)
  if (length > copiedBytesMax) {
    socket.cork()
    socket.write(digits + lineEnd, 'latin1')
    for (const piece of bytes) socket.write(piece)
    const isRoomLeft = socket.write(lineEnd, 'latin1')
    socket.uncork()
    return isRoomLeft
  }
  const chunk = Buffer.allocUnsafe(length + digits.length + 4)
  let at = chunk.write(digits, 'latin1')
  at = endLine(chunk, at)
  for (const piece of bytes) at += piece.copy(chunk, at)
  endLine(chunk, at)
  return socket.write(chunk)
}

function endLine(chunk: Buffer, at: number): number {
  chunk[at] = carriageReturn
  chunk[at + 1] = lineFeed
  return at + 2
}
