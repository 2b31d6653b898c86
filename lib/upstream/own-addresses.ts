import type { Target } from '../models/target.ts'
import type { Route } from '../routes/route.ts'

/** Headers in which a provider says where to go next (wire.md 2.5, 3.4). */
const addressHeaders: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'x-goog-upload-url',
  'x-goog-upload-control-url',
])

/** What the client asked below: `/v1`, or `/<provider>/v1`, which its next request must begin with too. */
type AddressedRoute = Pick<Route, 'prefix' | 'providerName'>

/**
 * An answer's headers with the provider's addresses made into ours, so that the client does not go on past
 * the gateway with a key that is nobody's there. An address elsewhere is dropped: it is not ours to vouch for.
 * @returns the same array when there is no such header
 */
export function ownAddresses(
  headers: readonly string[],
  target: Target,
  publicUrl: URL,
  route: AddressedRoute,
): readonly string[] {
  if (!headers.some((name, index) => index % 2 === 0 && addressHeaders.has(name.toLowerCase())))
    return headers
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string
    const value = headers[index + 1] as string
    if (!addressHeaders.has(name.toLowerCase())) kept.push(name, value)
    else {
      const own = ownAddress(value, target.baseUrl, publicUrl, route)
      if (own !== undefined) kept.push(name, own)
    }
  }
  return kept
}

/**
 * An address of the provider as ours; undefined for one elsewhere.
 * @param address absolute, or relative to the base URL
 */
export function ownAddress(
  address: string,
  baseUrl: URL,
  publicUrl: URL,
  { prefix, providerName }: AddressedRoute,
): string | undefined {
  if (!URL.canParse(address, baseUrl)) return undefined
  const { origin, pathname, search, hash } = new URL(address, baseUrl)
  if (origin !== baseUrl.origin) return undefined
  const base = baseUrl.pathname.replace(/\/$/, '')
  const isBelow = pathname === base || pathname.startsWith(`${base}/`)
  // Google's uploads and downloads stand beside the base, at the same paths as with us.
  const beside = (providerName === undefined ? '' : `/${providerName}`) + pathname
  const path = isBelow ? prefix + pathname.slice(base.length) : beside
  return publicUrl.origin + publicUrl.pathname.replace(/\/$/, '') + path + search + hash
}
