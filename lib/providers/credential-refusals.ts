/** The fields of a provider's error response that are read: exact values, never words inside a text. */
export interface ErrorFields {
  readonly status: number
  /** `error.code`, or `code` if the error is not nested. */
  readonly code: string
  readonly type: string
  /** Google's `error.status`. */
  readonly state: string
  /** The `reason` of each of Google's `error.details`. */
  readonly reasons: readonly string[]
  readonly message: string
}

/**
 * Whether an error is about the gateway's key or its billing, in the provider's own codes. A client chooses bodies,
 * headers and paths, so errors that these can cause are left out: a key's rights to one endpoint or model, an invalid
 * body, a reached limit.
 */
export type CredentialRefusal = (error: ErrorFields) => boolean

/** OpenAI's codes, which servers of its format have adopted. */
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

/** For companies whose 401 has no code; no client request can cause it. */
export const refusalsByStatus: readonly CredentialRefusal[] = [
  ({ status }) => status === 401,
  ...openaiRefusals,
  isPaymentRequired,
]
