/** A bank statement that cannot be taken; nothing of it is. */
export class StatementError extends Error {
  override readonly name = 'StatementError'
  /** Counted from 1; absent where the whole file is meant. */
  readonly line: number | undefined

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`)
    this.line = line
  }
}
