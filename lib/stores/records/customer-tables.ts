import type { Consent } from '../../accounts/user-rows.ts'
import type { TableWords } from '../shared/store-schema.ts'

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

/** What an operator noted about a customer; customers do not see it. */
export interface AccountNoteRow {
  readonly id: string
  readonly account_id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly operator: string
  readonly note: string
}

/** What a user agreed to, to be read. */
interface UserConsentRow extends Consent {
  readonly id: string
  readonly user_id: string
}

/** What operators know of customers beside their money. */
export interface NoteTables {
  readonly account_notes: AccountNoteRow
  readonly user_consents: UserConsentRow
}

/** Notes, append-only. */
export function noteTables({ integer, options, appendOnly }: TableWords): string {
  return `
CREATE TABLE account_notes (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  at ${integer} NOT NULL,
  operator TEXT NOT NULL,
  note TEXT NOT NULL
)${options};
CREATE INDEX account_notes_by_account ON account_notes (account_id, at);
${appendOnly('account_notes')}
`
}

/** An account that was given its starting credit. The email stands as a digest of its normal form. */
interface StartingCreditRow {
  readonly email_digest: string
  readonly account_id: string
  /** Days since the epoch in Moscow, and the place among the credits of the day. */
  readonly day: number
  readonly place: number
  readonly amount_micros: number
  readonly at: number
}

/** The table of starting credits. */
export interface StartingCreditTables {
  readonly starting_credits: StartingCreditRow
}

/** Starting credits. */
export function startingCreditTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE starting_credits (
  email_digest TEXT PRIMARY KEY,
  account_id TEXT NOT NULL UNIQUE REFERENCES accounts (id),
  day INTEGER NOT NULL,
  place INTEGER NOT NULL,
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  at ${integer} NOT NULL,
  UNIQUE (day, place)
)${options};
`
}

/** A charge's correction: what of it was given back, or taken again of what had been given back. */
interface CorrectionRow {
  readonly exchange_id: string
  readonly sequence: number
  /** 1 for the first correction of the charge. */
  readonly revision: number
  readonly account_id: string
  /** Given back; negative: taken again. */
  readonly amount_micros: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly operator: string
  /** The account sees it. */
  readonly reason: string
}

/** The table of corrections. */
export interface CorrectionTables {
  readonly charge_corrections: CorrectionRow
}

/** Corrections, append-only. */
export function correctionTables({ integer, options, appendOnly }: TableWords): string {
  return `
CREATE TABLE charge_corrections (
  exchange_id TEXT NOT NULL,
  sequence ${integer} NOT NULL,
  revision ${integer} NOT NULL CHECK (revision > 0),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount_micros ${integer} NOT NULL CHECK (amount_micros <> 0),
  at ${integer} NOT NULL,
  operator TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (exchange_id, sequence, revision)
)${options};
CREATE INDEX entries_of_corrections ON entries (account_id, at) WHERE kind = 'correction';
${appendOnly('charge_corrections')}
`
}

/** What of a charge was given back, as a column of a query of `charges`. */
export const returnedColumn = `(SELECT CAST(coalesce(sum(given.amount_micros), 0) AS BIGINT)
  FROM charge_corrections AS given
  WHERE given.exchange_id = charges.exchange_id AND given.sequence = charges.sequence) AS returned_micros`
