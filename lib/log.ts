import { pino } from 'pino'

export interface LogLine {
  (message: string): void
  (facts: object, message: string): void
}

/** Where the parts of the gateway write what operators should know. Facts first, then the sentence. */
export interface Log {
  readonly fatal: LogLine
  readonly error: LogLine
  readonly warn: LogLine
  readonly info: LogLine
  readonly debug: LogLine
  readonly trace: LogLine
  /** A log that adds the facts to every line. */
  child(facts: object): Log
}

export interface LogOptions {
  readonly level: string
  /** Takes whole lines; standard error unless given. */
  readonly destination?: { write(line: string): unknown }
}

/** Names under which secrets travel, wherever in the first two levels of a line's facts they stand. */
const secretNames = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'cookie',
  'set-cookie',
  'sec-websocket-protocol',
  'credential',
  'credentials',
  'password',
  'secret',
  'apiKey',
]

const redactedPaths = secretNames.flatMap(name => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** A gateway key, and the value of `key=` in an address, whatever text they stand in. */
const keysInText = /\bgw-[A-Za-z0-9_-]{20,}|([?&]key=)[^&\s"\\]+/g
const userInUrl = /(:\/\/)[^\s/@"\\]+@/g

/**
 * A log of JSON lines. Lines to standard error are written asynchronously, so that a slow terminal or disk
 * does not hold up requests; what is still in memory when the process exits is written then.
 */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? pino.destination({ fd: 2, sync: false })
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
      formatters: { level: label => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '[redacted]' },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  )
}

function withoutKeys(line: string): string {
  return line
    .replace(keysInText, (_, prefix: string | undefined) => `${prefix ?? ''}[redacted]`)
    .replace(userInUrl, '$1[redacted]@')
}
