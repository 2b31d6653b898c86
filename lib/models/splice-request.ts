import { outgoingBody, jsonStringBytes, type Splice } from '../bodies/outgoing-body.ts'
import { StreamedBody } from '../bodies/streamed-body.ts'
import type { ProviderConfig } from '../config/config.ts'
import type { Target } from './target.ts'
import type { Route } from '../routes/route.ts'
import type { ScannedRequest } from '../routes/scan-request.ts'

type Sent = Pick<Target, 'body' | 'upstreamPath' | 'isBodyDecoded' | 'isUsageInjected'>

/**
 * The bytes to send. They are the client's, but for two things: the model's name where the provider knows it
 * by another, and `include_usage` for providers whose streams carry no usage unless asked.
 */
export function spliceRequest(
  route: Route,
  scanned: ScannedRequest,
  upstreamModel: string | undefined,
  provider: ProviderConfig,
): Sent {
  const { facts, body, content, isForm } = scanned
  const splices: Splice[] = []
  if (upstreamModel !== undefined && facts.modelSpan !== undefined && facts.model !== upstreamModel) {
    // In JSON the value stands in quotes, in a form's field it stands bare.
    const name = (facts.modelPrefix ?? '') + upstreamModel
    const bytes = isForm ? Buffer.from(name) : jsonStringBytes(name)
    splices.push({ ...facts.modelSpan, bytes })
  }
  const isUsageInjected = provider.streamUsage === 'inject' && facts.usageSplice !== undefined
  if (isUsageInjected && facts.usageSplice !== undefined) {
    splices.push({ ...facts.usageSplice.span, bytes: facts.usageSplice.bytes })
  }
  return {
    upstreamPath: splicePath(route, upstreamModel),
    body: bodyToSend(scanned, splices),
    isBodyDecoded: content !== body && splices.length > 0,
    isUsageInjected,
  }
}

function bodyToSend({ body, content }: ScannedRequest, splices: Splice[]): Target['body'] {
  if (body instanceof StreamedBody) return body
  if (body.length === 0) return undefined
  if (splices.length === 0) return outgoingBody(body, splices)
  splices.sort((one, other) => one.start - other.start)
  return outgoingBody(content, splices)
}

function splicePath(route: Route, upstreamModel: string | undefined): string {
  const { upstreamPath, pathModel, pathModelSpan } = route.match
  if (upstreamModel === undefined || pathModelSpan === undefined || pathModel === upstreamModel)
    return upstreamPath
  const encoded = upstreamModel.split('/').map(encodeURIComponent).join('/')
  return upstreamPath.slice(0, pathModelSpan.start) + encoded + upstreamPath.slice(pathModelSpan.end)
}
