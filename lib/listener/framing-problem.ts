import type { IncomingMessage } from 'node:http'
import { checkFraming } from '../http/headers.ts'

const methodsWithoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
/** node:http tells of a thousand headers, and of those behind them nothing. */
const rawHeadersMax = 2000

/** Why a request could be read in two ways by two servers, in a sentence; undefined for one that could not. */
export function framingProblem(request: IncomingMessage): string | undefined {
  const { method = '', headers, rawHeaders, httpVersion } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 and HTTP/1.0 are spoken here.'
  if (rawHeaders.length >= rawHeadersMax) return `The request has ${rawHeadersMax / 2} headers or more.`
  if (headers.host === undefined && httpVersion !== '1.0') return 'The request has no Host.'
  const isChunked = headers['transfer-encoding'] !== undefined
  // What comes before us may pass such a body on without knowing where it ends (RFC 9112 section 6.1).
  if (isChunked && httpVersion === '1.0') return 'An HTTP/1.0 request may not have a Transfer-Encoding.'
  const hasBody = isChunked || Number(headers['content-length'] ?? 0) > 0
  // Google's SDKs send `{}` with every DELETE: no request fits into that.
  const isEmptyObject = method === 'DELETE' && headers['content-length'] === '2'
  if (hasBody && methodsWithoutBody.has(method) && !isEmptyObject) {
    return `A ${method} request may not have a body.`
  }
  return checkFraming(rawHeaders)
}
