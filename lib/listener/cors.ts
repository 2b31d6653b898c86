import type { ServerResponse } from 'node:http'
import { GatewayError } from '../pipeline/errors.ts'

/** The response headers that SDKs read; the last two give an upload's next address and its status. */
const exposed =
  'x-gateway-request-id, x-gateway-warning, x-request-id, request-id, retry-after, x-should-retry, x-goog-upload-url, x-goog-upload-status'
/** All methods that some route accepts, in the form of `Allow`. */
export const servedMethods = 'GET, POST, DELETE, PATCH, PUT'

/** The headers that let a web page of an allowed origin read a response; flat, empty for other origins. */
export function corsHeaders(origin: string, origins: readonly string[]): string[] {
  if (!origins.includes(origin) && !origins.includes('*')) return []
  return ['access-control-allow-origin', origin, 'access-control-expose-headers', exposed, 'vary', 'Origin']
}

/**
 * Responds to a browser's preflight; it carries no key, so authentication cannot apply to it.
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
