import type { Exchange } from './exchange.ts'
import type { ResponseHead } from './plugin.ts'

/**
 * Writes an answer's status and headers: the upstream's own, then our id of the exchange and the length.
 * Transfer-Encoding and Connection are node:http's to add.
 */
export function writeAnswerHead(exchange: Exchange, head: ResponseHead): void {
  const headers = [...head.headers, ...exchange.extraHeaders, 'x-gateway-request-id', exchange.id]
  if (head.contentLength !== undefined && exchange.rewriter === undefined) {
    headers.push('content-length', String(head.contentLength))
  }
  exchange.response.writeHead(head.status, headers)
}
