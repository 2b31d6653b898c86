import { errorWords } from '../platform/log.ts'

/** Names under which secrets appear, in lower case. */
const secretNames: ReadonlySet<string> = new Set(
  `authorization proxy-authorization x-api-key x-goog-api-key api-key apikey cookie set-cookie
    sec-websocket-protocol credential credentials password secret`.split(/\s+/),
)

/**
 * A gateway key, and the value of `key=` in a URL; a letter may precede them, since escapes such as `\n` end in one.
 */
const keysInText = /gw(?:-|%2d)[A-Za-z0-9_-]{20,}|([?&]key=)[^&\s"\\]+/gi
const userInUrl = /(:\/\/)[^\s/@"\\]+@/g
/** A quick test for both: an ordinary line does not match, and is scanned once. */
const suspicious = /gw(?:-|%2d)|[?&]key=|:\/\//i

const depthMax = 6
const censor = '[redacted]'

/**
 * A line's facts with the values under secret names replaced. Facts without any are returned as they are, so that an
 * ordinary line costs one pass over its names; pino's own redaction by paths costs more than the line itself.
 */
export function withoutSecrets<T extends object>(facts: T): T {
  return walk(facts, 0) as T
}

/**
 * The fields logged of an error beside its name, message, frames and cause: those known to hold no content. Libraries
 * attach data to their errors: undici the bytes of a response (`data`), PostgreSQL the values of a row (`detail`), an
 * SMTP client the mail server's text (`response`).
 */
const fields = [
  'code',
  'errno',
  'syscall',
  'address',
  'hostname',
  'port',
  'status',
  'statusCode',
  'closeCode',
  // PostgreSQL
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
  // SMTP
  'command',
  'responseCode',
] as const

const fieldLengthMax = 200
const framesMax = 30
const causesMax = 6
/** An error may aggregate several, for instance one for each address of a name. */
const errorsMax = 4

/** The form of an error in the log. */
interface LoggedError {
  readonly type: string
  readonly message: string
  readonly stack?: string
  readonly cause?: LoggedError
  readonly errors?: readonly LoggedError[]
  readonly [field: string]: unknown
}

/** The known fields of an error, of its causes, and of the errors that it aggregates. */
function loggedError(error: Error, causes = 0): LoggedError {
  const stack = frames(error)
  const known: Record<string, string | number | boolean> = {}
  for (const field of fields) {
    const value: unknown = (error as Error & Record<string, unknown>)[field]
    if (typeof value === 'string') known[field] = value.slice(0, fieldLengthMax)
    else if (typeof value === 'number' || typeof value === 'boolean') known[field] = value
  }
  const hasCause = error.cause instanceof Error && causes < causesMax
  const errors = error instanceof AggregateError && causes < causesMax ? manyOf(error, causes) : undefined
  return {
    type: error.name,
    message: errorWords(error),
    ...known,
    ...(stack !== '' && { stack }),
    ...(hasCause && { cause: loggedError(error.cause as Error, causes + 1) }),
    ...(errors !== undefined && { errors }),
  }
}

function manyOf({ errors }: AggregateError, causes: number): readonly LoggedError[] {
  const all: readonly unknown[] = errors
  return all
    .filter(one => one instanceof Error)
    .slice(0, errorsMax)
    .map(one => loggedError(one, causes + 1))
}

/** Only the frames: the stack repeats the message. */
function frames({ stack }: Error): string {
  return String(stack ?? '')
    .split('\n')
    .filter(line => /^ {4}at /.test(line))
    .slice(0, framesMax)
    .join('\n')
}

function walk(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return loggedError(value)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  // The value defines its own form: dates, URLs.
  if ('toJSON' in value) return value
  if (depth > depthMax) return '[...]'
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[name]
    const clean = isSecretName(name) ? censor : walk(item, depth + 1)
    if (clean === item) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
    copy[name] = clean
  }
  return copy ?? value
}

/** A cache of names, most of which are in every line; a provider's data may have any number of others. */
const metNames = new Map<string, boolean>()
const metNamesMax = 1000

function isSecretName(name: string): boolean {
  let isSecret = metNames.get(name)
  if (isSecret === undefined) {
    isSecret = secretNames.has(name.toLowerCase())
    if (metNames.size < metNamesMax) metNames.set(name, isSecret)
  }
  return isSecret
}

/** A text, such as a whole line, without gateway keys and without credentials in URLs. */
export function withoutKeys(text: string): string {
  if (!suspicious.test(text)) return text
  return text
    .replace(keysInText, (_, prefix: string | undefined) => `${prefix ?? ''}[redacted]`)
    .replace(userInUrl, '$1[redacted]@')
}
