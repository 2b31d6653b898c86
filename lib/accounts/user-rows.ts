/** What somebody signs in with, each in a table of its own. */
type SignInTable<Owner extends string> =
  `${Owner}_${'sessions' | 'passwords' | 'verifications' | 'two_factors'}`

/** Tables of whoever signs in: customers, and operators in their own pages. */
export type UserTable = 'users' | 'operators' | SignInTable<'user' | 'operator'>

/** A value as the store has it: times are milliseconds since the epoch, truth is 0 or 1. */
export type RowValue = string | number | null

/** A row by its columns. */
export type UserRow = Readonly<Record<string, RowValue>>

/** What a row must be like; several hold together unless one says `isOr`. */
export interface RowCondition {
  readonly column: string
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'
  readonly value: RowValue | readonly RowValue[]
  /** Enough by itself, or together with the others that say so. */
  readonly isOr?: boolean
}

/** Which rows, in which order. */
export interface RowQuery {
  readonly where?: readonly RowCondition[]
  readonly orderBy?: { readonly column: string; readonly isDescending: boolean }
  readonly limit?: number
  readonly offset?: number
}

/** How rows are changed. */
export interface RowChange {
  readonly set?: UserRow
  /** Added to what stands there; nothing counts as 0. */
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
 * An account that a user may act for: as its owner, or as an accountant, who sees money and documents and neither
 * keys nor requests.
 */
export interface Membership {
  readonly accountId: string
  readonly role: 'owner' | 'accountant'
}

/**
 * Users, and what they sign in with. What changes something resolves when it is on the disk.
 * An unknown table or column is a TypeError.
 */
export interface UserRows {
  find(table: UserTable, query: RowQuery): Promise<readonly UserRow[]>
  count(table: UserTable, where?: readonly RowCondition[]): Promise<number>
  insert(table: UserTable, row: UserRow): Promise<void>
  /** Answers the rows as they are now. Without a condition nothing is changed. */
  update(table: UserTable, where: readonly RowCondition[], change: RowChange): Promise<readonly UserRow[]>
  /** Answers the rows that were there. Without a condition nothing is deleted. */
  delete(table: UserTable, where: readonly RowCondition[], limit?: number): Promise<readonly UserRow[]>
  /** A user with an account of their own and what they agreed to, all or nothing. */
  createUser(user: UserRow, consents: readonly Consent[]): Promise<void>
  addConsents(userId: string, consents: readonly Consent[]): Promise<void>
  consents(userId: string): Promise<readonly Consent[]>
  /**
   * Removes users who signed up before a time, have not confirmed the email, and whose accounts have neither
   * money nor keys; answers how many. Such an account stays, with nothing personal about it.
   */
  deleteUnconfirmed(madeBefore: number, limit: number): Promise<number>
  /** The accounts of a user, the oldest first. */
  memberships(userId: string): Promise<readonly Membership[]>
  /** A secret of this store's own: the candidate becomes it when there is none yet. */
  secret(name: string, candidate: string): Promise<string>
}
