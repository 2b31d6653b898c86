import type { ProviderConfig } from '../config/config.ts'
import type { Route, Target } from '../exchange-facts.ts'
import { jsonStringBytes, spliceBytes } from '../http/splice.ts'
import type { ScannedRequest } from '../scan-request.ts'

type Splice = { readonly start: number; readonly end: number; readonly bytes: Buffer }
type Sent = Pick<Target, 'body' | 'upstreamPath' | 'isBodyDecoded' | 'isUsageInjected'>

/**
 * The bytes to send. They are the client's, but for two things: the model's name where the provider knows it
 * by another, and `include_usage` for providers whose streams carry no usage unless asked.
 */
export function spliceRequest(
  route: Route,
  scanned: ScannedRequest,
  body: Buffer,
  upstreamModel: string | undefined,
  provider: ProviderConfig,
): Sent {
  const { facts } = scanned
  const splices: Splice[] = []
  if (upstreamModel !== undefined && facts.modelSpan !== undefined && facts.model !== upstreamModel) {
    splices.push({
      ...facts.modelSpan,
      bytes: modelBytes(scanned.decoded, facts.modelSpan.start, upstreamModel),
    })
  }
  const isUsageInjected = provider.streamUsage === 'inject' && facts.usageSplice !== undefined
  if (isUsageInjected && facts.usageSplice !== undefined) {
    splices.push({ ...facts.usageSplice.span, bytes: facts.usageSplice.bytes })
  }
  return {
    upstreamPath: splicePath(route, upstreamModel),
    body: body.length === 0 ? undefined : splices.length === 0 ? body : spliceBytes(scanned.decoded, splices),
    isBodyDecoded: scanned.wasEncoded && splices.length > 0,
    isUsageInjected,
  }
}

/** In JSON the value stands in quotes, in a multipart field it stands bare. */
function modelBytes(body: Buffer, start: number, model: string): Buffer {
  return body[start] === 0x22 ? jsonStringBytes(model) : Buffer.from(model)
}

function splicePath(route: Route, upstreamModel: string | undefined): string {
  const { upstreamPath, pathModel, pathModelSpan } = route.match
  if (upstreamModel === undefined || pathModelSpan === undefined || pathModel === upstreamModel)
    return upstreamPath
  const encoded = upstreamModel.split('/').map(encodeURIComponent).join('/')
  return upstreamPath.slice(0, pathModelSpan.start) + encoded + upstreamPath.slice(pathModelSpan.end)
}
