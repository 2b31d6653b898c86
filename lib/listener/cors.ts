import type { ServerResponse } from 'node:http'
import { GatewayError } from '../pipeline/errors.ts'

/** What SDKs read of answers; the last are where an upload goes on, and whether it does. */
const exposed =
  'x-gateway-request-id, x-gateway-warning, x-request-id, request-id, retry-after, x-should-retry, x-goog-upload-url, x-goog-upload-status'
/** All that some route takes, as in `Allow`. */
export const servedMethods = 'GET, POST, DELETE, PATCH, PUT'

/** The headers that let a web page of an allowed origin read an answer; flat, empty for other origins. */
export function corsHeaders(origin: string, origins: readonly string[]): string[] {
  if (!origins.includes(origin) && !origins.includes('*')) return []
  return ['access-control-allow-origin', origin, 'access-control-expose-headers', exposed, 'vary', 'Origin']
}

/**
 * Answers a browser's preflight; it carries no key, so auth cannot see it.
 * @throws GatewayError method_not_allowed when the origin is not allowed
 */
export function answerPreflight(response: ServerResponse, cors: readonly string[], exchangeId: string): void {
  if (cors.length === 0) {
    throw new GatewayError(
      'method_not_allowed',
      'OPTIONS is answered for the origins of cors.origins only.',
      { details: { allow: servedMethods } },
    )
  }
  const asked = response.req.headers['access-control-request-headers']
  response.writeHead(204, [
    ...cors,
    'access-control-allow-methods',
    servedMethods,
    'access-control-allow-headers',
    asked ?? 'authorization, content-type',
    'access-control-max-age',
    '600',
    'x-gateway-request-id',
    exchangeId,
  ])
  response.end()
}
