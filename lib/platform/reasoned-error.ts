/** The values in a reason: names, numbers and days as they are; `...Kopecks` is an amount. */
export type ReasonDetails = Readonly<Record<string, string | number>>

/** An action that is not possible. The command line shows the message; pages translate the code with its details. */
export class ReasonedError<Code extends string> extends Error {
  readonly code: Code
  readonly details: ReasonDetails

  constructor(code: Code, message: string, details: ReasonDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
