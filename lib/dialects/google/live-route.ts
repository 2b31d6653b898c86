import type { RouteMatch } from '../dialect.ts'
import { live } from './live.ts'

/** With a token in place of a key the method has another name; tokens are made elsewhere. */
const livePath =
  /^\/ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)?\.GenerativeService\.BidiGenerateContent(?=\?|$)/

/** Gemini Live's path, which stands at the provider's origin; undefined for any other. */
export function matchLive(pathAndQuery: string): RouteMatch | undefined {
  return livePath.test(pathAndQuery)
    ? { operation: live, upstreamPath: pathAndQuery, isAtOrigin: true }
    : undefined
}
