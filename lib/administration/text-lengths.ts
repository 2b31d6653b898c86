/** The number of characters that operators may write, on their pages and in commands. */
export const textLengthsMax = {
  /** Of the name of an account, a key or an operator. */
  name: 200,
  /** Of one of the models that a key may use. */
  modelName: 200,
  idempotencyKey: 200,
  /** Of a reason, and of a note about a customer. */
  reason: 1000,
  refundReason: 128,
  transferNote: 500,
} as const

/** The number of models, or addresses, to which a key may be limited. */
export const keyListMax = 100
