/** What a reason is told with: names, numbers and days as they are; `...Kopecks` is an amount. */
export type ReasonDetails = Readonly<Record<string, string | number>>

/** Something that cannot be done. The message is the command line's; pages say the code with its details in their language. */
export class ReasonedError<Code extends string> extends Error {
  readonly code: Code
  readonly details: ReasonDetails

  constructor(code: Code, message: string, details: ReasonDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
