import type { ProviderConfig } from '../config/config.ts'
import type { Dialect, DialectName } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'

type Dialects = Readonly<Record<DialectName, Dialect>>

/**
 * Providers may take `/%72esponses`, `/responses/` and `/responses;a` for what they know, whose rules would not
 * be kept. What any of a provider's formats knows is known: they often share an address.
 */
export function isKnownOtherwise(
  provider: ProviderConfig,
  dialects: Dialects,
  dialect: Dialect,
  method: string,
  pathAndQuery: string,
): boolean {
  const [path = '', query = ''] = pathAndQuery.split(/(?=\?)/, 2)
  const decoded = decode(path)
  if (decoded === undefined) return true
  const spoken = Object.values(dialects).filter(({ name }) => provider.dialects[name] !== undefined)
  return spellings(path, decoded).some(spelling =>
    spoken.some(other => {
      const own = pathOfDialect(provider, dialect.name, other.name, spelling)
      if (own === undefined || (own === path && other === dialect)) return false
      // A path that only another method is for is known, too.
      return isKnown(other, method, own + query)
    }),
  )
}

/** What follows the base URL of one format in a path that is sent below that of another; undefined for none. */
export function pathOfDialect(
  { dialects }: ProviderConfig,
  from: DialectName,
  to: DialectName,
  path: string,
): string | undefined {
  const [base, other] = [dialects[from]?.baseUrl, dialects[to]?.baseUrl]
  if (base === undefined || other === undefined || base.origin !== other.origin) return undefined
  const [above, below] = [base, other].map(url => url.pathname.replace(/\/$/, '')) as [string, string]
  const whole = above + path
  return whole.startsWith(`${below}/`) ? whole.slice(below.length) : undefined
}

/** As servers may read it: decoded, without parameters and what stands behind; and by those who ignore case. */
function spellings(path: string, decoded: string): readonly string[] {
  const plain = withoutEnd(decoded.replaceAll(/;[^/]*/g, ''))
  return [path, plain, plain.toLowerCase()]
}

/** Without slashes and blanks at its end. A pattern would look to the end again from each of those before it. */
function withoutEnd(path: string): string {
  let end = path.length
  while (end > 0 && /[/\s]/.test(path.charAt(end - 1))) end -= 1
  return path.slice(0, end)
}

/** Undefined where an escape is none. */
function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function isKnown(dialect: Dialect, method: string, pathAndQuery: string): boolean {
  try {
    dialect.match(method, pathAndQuery)
    return true
  } catch (error) {
    return !(error instanceof GatewayError) || error.code !== 'route_not_found'
  }
}
