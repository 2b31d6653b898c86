import type { TableWords } from '../shared/table-words.ts'

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
interface UserConsentRow {
  readonly id: string
  readonly user_id: string
  readonly kind: 'offer' | 'personal-data'
  readonly version: string
  readonly language: string
  readonly address: string
  readonly at: number
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
