import type { UploadWatcher } from '../http/upload-watcher.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { RequestBody } from '../bodies/request-body.ts'
import type { Bodies } from '../bodies/bodies.ts'
import { StreamedBody } from '../bodies/streamed-body.ts'
import type { Limits } from '../config/config.ts'
import type { Route } from './route.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { beginScan, scannedRequest, streamedRequest, type ScannedRequest } from './scan-request.ts'

declare module '../pipeline/facts.ts' {
  interface Facts {
    /** What the scan of the body found. */
    request: RequestFacts
    /** Gives back what `body` and `content` take up. */
    receivedBody: { close(): void }
    /** The request's body as it came; absent where it streams through. */
    body: RequestBody
    /** The body with its content-encoding undone: the offsets of `request` are into it. The same where it has none. */
    content: RequestBody
    /** The body of an upload that streams through. */
    upload: StreamedBody
    /** What the operation had watch the upload. */
    uploadWatcher: UploadWatcher
  }
}

/**
 * Takes in a request's body: scanned while it comes and held within the limits, or, where its operation needs
 * nothing from it, left with the client until the provider takes it. Sets the facts of the body.
 * @throws GatewayError body_too_large, overloaded, body_invalid, field_ambiguous and the like
 */
export function receiveRequest(
  bodies: Bodies,
  exchange: Exchange,
  route: Route,
  limits: Limits,
): ScannedRequest | Promise<ScannedRequest> {
  const { request, response } = exchange
  const { operation } = route.match
  if (operation.body === 'streamed' && hasBody(exchange)) return stream(exchange, route, limits)
  const foldUnderscores = route.dialect.name === 'google'
  const isScanned = route.ownEndpoint === undefined
  const received = bodies.receive(request, response, {
    bytesMax: limits.bodyBytesMax,
    memoryBytesMax: limits.bodyMemoryBytes,
    timeMs: limits.bodyMs,
    scan: (isWhole, isEmpty, kept) =>
      isScanned ? beginScan(operation, request, isEmpty, { foldUnderscores, isWhole, kept }) : undefined,
  })
  return received.then(whole => {
    exchange.set('receivedBody', whole)
    exchange.set('body', whole.body)
    exchange.set('content', whole.content)
    return scannedRequest(whole)
  })
}

/**
 * Scans a body that was received before as one for another route.
 * @throws GatewayError as `receiveRequest`
 */
export async function scanAgain(bodies: Bodies, exchange: Exchange, route: Route): Promise<ScannedRequest> {
  const body = exchange.get('body')
  const content = exchange.get('content')
  const foldUnderscores = route.dialect.name === 'google'
  const scan = beginScan(route.match.operation, exchange.request, content.length === 0, {
    foldUnderscores,
    isWhole: false,
  })
  const found = scan === undefined ? undefined : await bodies.scan(content, scan)
  return scannedRequest({ body, content, found })
}

function stream(exchange: Exchange, route: Route, { bodyMs }: Limits): ScannedRequest {
  const { request, response } = exchange
  const { headers, rawHeaders } = request
  const upload = new StreamedBody(request, response, bodyMs)
  const watcher = route.match.operation.watchUpload?.({
    contentType: headers['content-type'] ?? '',
    contentEncoding: headers['content-encoding'] ?? '',
    contentLength: upload.length,
    headers: rawHeaders,
  })
  if (watcher !== undefined) {
    upload.watch(watcher)
    exchange.set('uploadWatcher', watcher)
  }
  exchange.set('upload', upload)
  return streamedRequest(upload)
}

function hasBody({ request: { headers } }: Exchange): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
