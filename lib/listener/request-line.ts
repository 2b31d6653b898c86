import type { IncomingMessage } from 'node:http'
import type { Segment } from './connection-reader.ts'

/** As node:http takes it. */
const version = /^(?:HTTP|RTSP|ICE)\/\d\.\d\r?\n/
const versionBytesMax = 12
const [blank, carriageReturn, lineFeed] = [0x20, 0x0d, 0x0a]

/**
 * Whether a request's first line is written otherwise than RFC 9112 section 3 has it, though node:http takes it: with
 * more than one blank between its parts, or as RTSP or ICE. A server in front may have read another target in it. A line
 * that comes in two segments is not seen: whoever stands in front writes each line at once.
 */
export function hasOddLine(
  { method = '', url = '', httpVersion }: IncomingMessage,
  segment: Segment,
): boolean {
  const { bytes } = segment
  const line = `${method} ${url} HTTP/${httpVersion}\r\n`
  // Nearly always the request is all that there is.
  const begin = segment.at === 0 ? firstOfLine(bytes) : segment.at
  const plainAt = isAt(bytes, begin, line) ? begin : bytes.indexOf(line, begin, 'latin1')
  if (plainAt >= 0) segment.at = plainAt + line.length
  if (plainAt === begin) return false
  return hasSpreadLine(bytes.subarray(begin, plainAt < 0 ? bytes.length : plainAt), method, url)
}

/** Empty lines may come before a request (RFC 9112 section 2.2). */
function firstOfLine(bytes: Buffer): number {
  let at = 0
  while (bytes[at] === carriageReturn || bytes[at] === lineFeed) at += 1
  return at
}

function isAt(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}

/** Whether such a line is there, however many blanks are in it and whatever its version. */
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
