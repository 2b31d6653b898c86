import { loggedError } from './log-errors.ts'

/** Names under which secrets travel, in lower case. */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'apikey',
  'cookie',
  'set-cookie',
  'sec-websocket-protocol',
  'credential',
  'credentials',
  'password',
  'secret',
])

/** A gateway key, and the value of `key=` in an address, whatever text they stand in. */
const keysInText = /\bgw-[A-Za-z0-9_-]{20,}|([?&]key=)[^&\s"\\]+/g
const userInUrl = /(:\/\/)[^\s/@"\\]+@/g

const depthMax = 6
const censor = '[redacted]'

/**
 * A line's facts with what stands under a secret's name replaced. What has none is returned as it is, so that
 * an ordinary line costs a look at its names; pino's own redaction by paths costs more than the line itself.
 */
export function withoutSecrets<T extends object>(facts: T): T {
  return walk(facts, 0) as T
}

function walk(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return loggedError(value)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  // It says itself what is written of it: dates, addresses.
  if ('toJSON' in value) return value
  if (depth > depthMax) return '[...]'
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[name]
    const clean = secretNames.has(name.toLowerCase()) ? censor : walk(item, depth + 1)
    if (clean === item) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
    copy[name] = clean
  }
  return copy ?? value
}

/** A text, such as a whole line, without gateway keys, and without what signs in at an address. */
export function withoutKeys(text: string): string {
  return text
    .replace(keysInText, (_, prefix: string | undefined) => `${prefix ?? ''}[redacted]`)
    .replace(userInUrl, '$1[redacted]@')
}
