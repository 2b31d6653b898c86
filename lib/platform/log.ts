/** Writes one line. */
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
