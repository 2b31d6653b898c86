/** A provider's error answer, as far as it is read: exact values, never words somewhere in it. */
export interface ErrorFields {
  readonly status: number
  /** `error.code`, or `code` where the error is not nested. */
  readonly code: string
  readonly type: string
  /** Google's `error.status`. */
  readonly state: string
  /** The `reason` of each of Google's `error.details`. */
  readonly reasons: readonly string[]
  readonly message: string
}

/**
 * Whether an error is about our key or about who pays for it, in the provider's own codes. A client chooses its bodies,
 * headers and paths, so errors that those can bring about are left out: rights of a key to one endpoint or model, a body that
 * is wrong, a limit that is reached.
 */
export type CredentialRefusal = (error: ErrorFields) => boolean

/** OpenAI's codes, which servers of its format have taken over. */
export const openaiRefusals: readonly CredentialRefusal[] = [
  ({ status, code, type }) => status === 401 && (code === 'invalid_api_key' || type === 'invalid_api_key'),
  ({ status, code }) => (status === 401 || status === 403) && code === 'account_deactivated',
  ({ status, code, type }) =>
    status === 429 &&
    (code === 'insufficient_quota' || type === 'insufficient_quota' || code === 'billing_not_active'),
  ({ status, code }) => status === 400 && code === 'billing_hard_limit_reached',
]

/** A 402 of any other company is about money too. */
export const isPaymentRequired: CredentialRefusal = ({ status }) => status === 402

/** Of companies whose 401 has no code; no request of a client can bring it about. */
export const refusalsByStatus: readonly CredentialRefusal[] = [
  ({ status }) => status === 401,
  ...openaiRefusals,
  isPaymentRequired,
]
