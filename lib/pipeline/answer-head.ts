import { isBodyComing } from './end-after-body.ts'
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
  // Behind a body that was not wanted to its end the connection cannot be used again.
  if (isBodyComing(exchange.request)) exchange.response.shouldKeepAlive = false
  exchange.response.writeHead(head.status, headers)
}
