import type { ServerResponse } from 'node:http'

/**
 * Writes an informational response (RFC 9110 section 15.2) before the head, where that is still possible. HTTP/1.0 has
 * none, and Node before 24.19 can write only 100.
 * @param headers flat
 */
export function writeInformation(
  response: ServerResponse,
  status: number,
  headers: readonly string[] = [],
): void {
  if (response.headersSent || response.destroyed || response.req.httpVersion === '1.0') return
  // While an earlier response on the connection is open, node:http would keep this one and write it after the head.
  if (response.socket === null) return
  if (status === 100) response.writeContinue()
  else if ('writeInformation' in response) response.writeInformation(status, headers)
}
