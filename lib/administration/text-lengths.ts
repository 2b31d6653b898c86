/** How many characters operators may write, on their pages and by commands. */
export const textLengthsMax = {
  /** Of an account, a key or an operator. */
  name: 200,
  /** Of one of the models that a key may use. */
  modelName: 200,
  idempotencyKey: 200,
  /** Why something is done, and what is noted about a customer. */
  reason: 1000,
  refundReason: 128,
  transferNote: 500,
} as const

/** How many models, or addresses, a key may be limited to. */
export const keyListMax = 100
