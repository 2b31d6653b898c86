/** Tables for the sign-in of an owner. */
type SignInTable<Owner extends string> =
  `${Owner}_${'sessions' | 'passwords' | 'verifications' | 'two_factors'}`

/** Tables for sign-in: of customers, and of operators with their own pages. */
export type UserTable = 'users' | 'operators' | SignInTable<'user' | 'operator'>

/** A value as the store has it: times are milliseconds since the epoch, booleans are 0 or 1. */
export type RowValue = string | number | null

/** A row by its columns. */
export type UserRow = Readonly<Record<string, RowValue>>

/** A condition on rows; all conditions without `isOr` must hold. */
export interface RowCondition {
  readonly column: string
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'
  readonly value: RowValue | readonly RowValue[]
  /** At least one of the conditions with `isOr` must hold, beside the others. */
  readonly isOr?: boolean
}

/** Selects and orders rows. */
export interface RowQuery {
  readonly where?: readonly RowCondition[]
  readonly orderBy?: { readonly column: string; readonly isDescending: boolean }
  readonly limit?: number
  readonly offset?: number
}

/** A change of rows. */
export interface RowChange {
  readonly set?: UserRow
  /** Added to the stored value; null counts as 0. */
  readonly add?: Readonly<Record<string, number>>
}

/** What a user agreed to, when and from where. */
export interface Consent {
  readonly kind: 'offer' | 'personal-data'
  /** The version of the text that was shown. */
  readonly version: string
  readonly language: string
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * An account that a user may act for: as its owner, or as an accountant, who sees money and documents but neither keys
 * nor requests.
 */
export interface Membership {
  readonly accountId: string
  readonly role: 'owner' | 'accountant'
}

/** Users, and their sign-in. Changes resolve when they are on disk. An unknown table or column is a TypeError. */
export interface UserRows {
  find(table: UserTable, query: RowQuery): Promise<readonly UserRow[]>
  count(table: UserTable, where?: readonly RowCondition[]): Promise<number>
  insert(table: UserTable, row: UserRow): Promise<void>
  /** Resolves with the rows as they are now. Without a condition nothing is changed. */
  update(table: UserTable, where: readonly RowCondition[], change: RowChange): Promise<readonly UserRow[]>
  /** Resolves with the rows that were deleted. Without a condition nothing is deleted. */
  delete(table: UserTable, where: readonly RowCondition[], limit?: number): Promise<readonly UserRow[]>
  /** Creates a user with an account of their own and their consents, all or nothing. */
  createUser(user: UserRow, consents: readonly Consent[]): Promise<void>
  addConsents(userId: string, consents: readonly Consent[]): Promise<void>
  consents(userId: string): Promise<readonly Consent[]>
  /**
   * Removes users who signed up before a time, have not confirmed the email, and whose accounts have neither money nor
   * keys; resolves with their number. The account stays, without personal data.
   */
  deleteUnconfirmed(madeBefore: number, limit: number): Promise<number>
  /** The accounts of a user, oldest first. */
  memberships(userId: string): Promise<readonly Membership[]>
  /** A secret of this store: the candidate becomes it when there is none yet. */
  secret(name: string, candidate: string): Promise<string>
}
