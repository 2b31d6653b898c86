const lengthMax = 1000

/**
 * The message of an error without the data that it quotes: V8 shows the text that is not JSON, a database the value
 * that it refuses, a mail server the link in an email. For messages that may be logged, or become part of another
 * error.
 */
export function errorWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, lengthMax)
  if ('responseCode' in error) return `the mail server answered ${String(error.responseCode)}`
  if ('response' in error) return 'the mail server answered what is no SMTP'
  const isQuoting = error instanceof SyntaxError || 'severity' in error
  const message = String(error.message)
  return (isQuoting ? message.replace(/['"][^]*['"]/, '"..."') : message).slice(0, lengthMax)
}

/** Writes one line. */
interface LogLine {
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
