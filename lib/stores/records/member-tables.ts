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

function invitationTable(integer: 'INTEGER' | 'BIGINT', options: string): string {
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

const roles = `CHECK (role IN ('owner', 'accountant'))`
// No program has written another role than owner; whatever a hand has, becomes the one with fewer rights.
const knownRole = `CASE role WHEN 'owner' THEN 'owner' ELSE 'accountant' END`

/** The step that brings accountants to a SQLite store, which cannot change a check in place. */
export const sqliteMembers = `
CREATE TABLE memberships_with_accountants (
  user_id TEXT NOT NULL REFERENCES users (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL ${roles},
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, account_id)
) STRICT, WITHOUT ROWID;
INSERT INTO memberships_with_accountants
  SELECT user_id, account_id, ${knownRole}, created_at FROM memberships;
DROP TABLE memberships;
ALTER TABLE memberships_with_accountants RENAME TO memberships;
CREATE INDEX memberships_by_account ON memberships (account_id);
${invitationTable('INTEGER', ' STRICT, WITHOUT ROWID')}`

/** The step that brings accountants to a PostgreSQL store. */
export const postgresMembers = `
ALTER TABLE memberships DROP CONSTRAINT memberships_role_check;
UPDATE memberships SET role = ${knownRole} WHERE role <> 'owner';
ALTER TABLE memberships ADD CONSTRAINT memberships_role_check ${roles};
${invitationTable('BIGINT', '')}`
