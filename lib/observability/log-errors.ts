import { errorWords } from '../platform/error-words.ts'

/**
 * What is logged of an error, beside its name, message, frames and cause: the fields that are known to hold no content.
 * Libraries hang whatever they had in hand on their errors: undici the bytes of a response (`data`), PostgreSQL the
 * values of a row (`detail`), a mail server's words (`response`).
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
/** An error may stand for many, as for each address of a name. */
const errorsMax = 4

/** An error as the log has it. */
export interface LoggedError {
  readonly type: string
  readonly message: string
  readonly stack?: string
  readonly cause?: LoggedError
  readonly errors?: readonly LoggedError[]
  readonly [field: string]: unknown
}

/** The known fields of an error, of what caused it, and of those that it stands for. */
export function loggedError(error: Error, causes = 0): LoggedError {
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

/** The message stands in the stack, too. */
function frames({ stack }: Error): string {
  return String(stack ?? '')
    .split('\n')
    .filter(line => /^ {4}at /.test(line))
    .slice(0, framesMax)
    .join('\n')
}
