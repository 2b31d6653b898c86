import type { UserTable } from '../../accounts/user-rows.ts'

/** The tables of an area's users and of what they sign in with. */
export interface SignInTables {
  readonly users: UserTable
  readonly sessions: UserTable
  readonly passwords: UserTable
  readonly verifications: UserTable
  readonly twoFactors: UserTable
}

/** Customers, in the account area. */
export const customerTables: SignInTables = {
  users: 'users',
  sessions: 'user_sessions',
  passwords: 'user_passwords',
  verifications: 'user_verifications',
  twoFactors: 'user_two_factors',
}

/** Operators, in their own pages. */
export const operatorTables: SignInTables = {
  users: 'operators',
  sessions: 'operator_sessions',
  passwords: 'operator_passwords',
  verifications: 'operator_verifications',
  twoFactors: 'operator_two_factors',
}
