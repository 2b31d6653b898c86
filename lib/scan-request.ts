import type { IncomingMessage } from 'node:http'
import type { Operation, RequestFacts } from './dialects/dialect.ts'
import { GatewayError } from './errors.ts'
import { decodeBody } from './http/decode-body.ts'
import { JsonScanError, scanJson } from './http/json-scan.ts'
import { multipartBoundary, MultipartError, scanMultipart } from './http/multipart-scan.ts'

/** What a body says, and where in it. */
export interface ScannedRequest {
  readonly facts: RequestFacts
  /** The body with its content-encoding removed; the facts' offsets are into it. */
  readonly decoded: Buffer
  readonly wasEncoded: boolean
}

interface ScanRequestOptions {
  readonly bodyBytesMax: number
  /** Google takes `max_tokens` and `maxTokens` for one field. */
  readonly foldUnderscores: boolean
}

/**
 * Finds what the gates need in a request's body, without changing it.
 * @throws GatewayError body_invalid, field_ambiguous and the like, with the path of the part
 */
export async function scanRequest(
  operation: Operation,
  request: IncomingMessage,
  body: Buffer,
  options: ScanRequestOptions,
): Promise<ScannedRequest> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  const wasEncoded = encoding !== '' && encoding !== 'identity'
  const decoded = wasEncoded ? await decodeBody(body, encoding, options.bodyBytesMax) : body
  return {
    facts: factsOf(operation, request.headers['content-type'] ?? '', decoded, options),
    decoded,
    wasEncoded,
  }
}

function factsOf(
  operation: Operation,
  contentType: string,
  body: Buffer,
  options: ScanRequestOptions,
): RequestFacts {
  const isMultipart = /^multipart\/form-data/i.test(contentType)
  if (operation.factsFromMultipart !== undefined && (isMultipart || operation.factsFromJson === undefined)) {
    return multipartFacts(operation.factsFromMultipart.bind(operation), contentType, body)
  }
  if (operation.factsFromJson !== undefined && operation.interest !== undefined && !isMultipart) {
    try {
      return operation.factsFromJson(
        scanJson(body, operation.interest, { foldUnderscores: options.foldUnderscores }),
        body,
      )
    } catch (error) {
      throw error instanceof JsonScanError ? scanError(error) : error
    }
  }
  return unknownFacts(body.length)
}

/** For bodies that are forwarded unseen. */
export function nothingScanned(body: Buffer): ScannedRequest {
  return { facts: unknownFacts(body.length), decoded: body, wasEncoded: false }
}

function unknownFacts(textBytes: number): RequestFacts {
  return { isStreaming: false, candidates: 1, textBytes, media: [], objects: [] }
}

function scanError(error: JsonScanError): GatewayError {
  const code = error.reason === 'duplicate' ? 'field_ambiguous' : 'body_invalid'
  return new GatewayError(code, error.message, {
    cause: error,
    ...(error.path === '' ? {} : { param: error.path }),
  })
}

function multipartFacts(
  facts: NonNullable<Operation['factsFromMultipart']>,
  contentType: string,
  body: Buffer,
): RequestFacts {
  const boundary = multipartBoundary(contentType)
  if (boundary === undefined) {
    throw new GatewayError('body_invalid', 'The content-type must be multipart/form-data with a boundary.', {
      param: 'content-type',
    })
  }
  try {
    return facts(scanMultipart(body, boundary), body)
  } catch (error) {
    if (error instanceof MultipartError)
      throw new GatewayError('body_invalid', error.message, { cause: error })
    throw error
  }
}
