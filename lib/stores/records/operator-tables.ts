/** What an operator may do: everything, money, or nothing but look. */
export type OperatorRole = 'owner' | 'finance' | 'support'

/** Somebody who works in the operator's pages. Times are milliseconds since the epoch. */
export interface OperatorRow {
  readonly id: string
  readonly email: string
  readonly name: string | null
  readonly role: OperatorRole
  readonly created_at: number
  readonly email_verified: number
  readonly two_factor_enabled: number
}

interface OperatorVerificationRow {
  readonly id: string
  readonly identifier: string
  readonly value: string
  readonly expires_at: number
  readonly created_at: number
  readonly updated_at: number
}

interface OfOperator {
  readonly id: string
  readonly user_id: string
}

/** The tables of operators. */
export interface OperatorTables {
  readonly operators: OperatorRow
  readonly operator_verifications: OperatorVerificationRow
  readonly operator_sessions: OfOperator
  readonly operator_passwords: OfOperator
  readonly operator_two_factors: OfOperator
}
