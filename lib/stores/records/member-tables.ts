import type { TableWords } from '../shared/table-words.ts'

/** A user's right to act for an account. */
interface MembershipRow {
  readonly user_id: string
  readonly account_id: string
  readonly role: 'owner' | 'accountant'
  readonly created_at: number
}

/** An invitation to an account that is neither accepted nor declined yet. */
interface InvitationRow {
  readonly account_id: string
  /** In lower case, as users have it. */
  readonly email: string
  readonly role: 'accountant'
  readonly invited_by: string
  readonly created_at: number
  readonly expires_at: number
}

/** Tables of the users that act for accounts. */
export interface MemberTables {
  readonly memberships: MembershipRow
  readonly invitations: InvitationRow
}

/** Invitations. */
export function memberTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE invitations (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('accountant')),
  invited_by TEXT NOT NULL REFERENCES users (id),
  created_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL,
  PRIMARY KEY (account_id, email)
)${options};
CREATE INDEX invitations_by_email ON invitations (email);
`
}
