import type { KeyRow } from '../shared/store-operation.ts'

/** Entries of the ledger, to be read: only the ledger's own operations write them. */
interface EntryRow {
  readonly exchange_id: string
  readonly sequence: number
  readonly kind: string
  readonly account_id: string
  readonly amount_micros: number
  readonly at: number
  readonly reason: string | null
  /** Of credits and debits whose money it was; absent: the operator's. */
  readonly source: string | null
}

/** What charges come to by day, to be read. */
interface ChargeSumRow {
  readonly account_id: string
  readonly day: number
  readonly model: string
  readonly key_id: string
  readonly outcome: string
  readonly charges: number
  readonly spent_micros: number
  readonly first_id: number
  readonly last_id: number
}

/** Charges, to be read. */
interface ChargeRow {
  readonly id: number
  readonly account_id: string
  readonly key_id: string
  readonly provider: string
  readonly model: string
  readonly outcome: string
  readonly exchange_id: string
  readonly sequence: number
  readonly revision: number
  readonly at: number
  readonly amount_micros: number
  readonly overrun_micros: number
}

/** Accounts and their money, to be read. */
interface AccountRow {
  readonly id: string
  readonly kind: 'customer' | 'house'
  readonly name: string | null
  readonly email: string | null
  readonly created_at: number
  /** Since when its keys are refused. */
  readonly blocked_at: number | null
  readonly balance_micros: number
  readonly debt_micros: number
  /** Below it its owners are told. */
  readonly alert_below_micros: number | null
}

/** Keys, to be read. */
type KeyOfAccountRow = Pick<
  KeyRow,
  'id' | 'account_id' | 'name' | 'last_four' | 'ip_addresses' | 'created_at' | 'revoked_at'
>

/** What is to be told of a balance. */
interface BalanceAlertRow {
  readonly account_id: string
}

/** What operators can do, each with a line in the log. */
export const operatorActions = [
  'block',
  'unblock',
  'edit-key',
  'revoke-key',
  'delete-account',
  'correct',
  'credit',
  'debit',
  'refund',
  'end-sessions',
  'accept-rate',
  'import-prices',
  'import-statement',
  'assign-transfer',
  'return-transfer',
  'undo-transfer',
  'close-month',
  'correct-document',
  'mark-document',
  'cancel-invoice',
  'add-operator',
  'remove-operator',
  'take-alarm',
  'close-alarm',
  'pause-provider',
  'resume-provider',
  'try-provider',
] as const

/** What operators did. */
export interface OperatorActionRow {
  readonly id: string
  readonly at: number
  readonly operator: string
  readonly action: (typeof operatorActions)[number]
  /** Empty where it was nobody's account. */
  readonly account_id: string
  readonly reason: string
}

/** Holds, to be read. */
interface HoldRow {
  readonly exchange_id: string
  readonly sequence: number
  readonly account_id: string
  readonly key_id: string
  readonly amount_micros: number
  readonly state: string
  readonly created_at: number
}

/** Who signs in, to be read. */
interface UserRow {
  readonly id: string
  readonly email: string
  readonly email_verified: number
  readonly language: string | null
  readonly name: string | null
  readonly image: string | null
  readonly two_factor_enabled: number
}

/** What somebody signs in with. */
interface OfUser {
  readonly user_id: string
}

/** Tables of the ledger that business rows are read beside. */
export interface LedgerTables {
  readonly accounts: AccountRow
  readonly holds: HoldRow
  readonly keys: KeyOfAccountRow
  readonly operator_actions: OperatorActionRow
  readonly users: UserRow
  readonly user_sessions: OfUser
  readonly user_passwords: OfUser
  readonly user_two_factors: OfUser
  readonly user_verifications: { readonly value: string }
  readonly balance_alerts: BalanceAlertRow
  readonly entries: EntryRow
  readonly charge_sums: ChargeSumRow
  readonly charges: ChargeRow
}

/** Entries that moved a balance and belong to no charge. An index is used where a query says just the same. */
export const movementCondition = `kind <> 'charge' AND kind <> 'revenue' AND kind <> 'cash' AND kind <> 'overrun'`

/** Finds movements by account: a few rows among millions. Both databases understand the same words. */
export const movementIndex = `
CREATE INDEX entries_of_movements ON entries (account_id, at) WHERE ${movementCondition};
`

/** What operators' pages look for among all accounts. Both databases understand the same words. */
export const deskIndexes = `
CREATE INDEX accounts_by_creation ON accounts (created_at, id);
CREATE INDEX accounts_indebted ON accounts (debt_micros) WHERE debt_micros > 0;
CREATE INDEX accounts_blocked ON accounts (blocked_at) WHERE blocked_at IS NOT NULL;
CREATE INDEX keys_by_ending ON keys (last_four);
CREATE INDEX charge_sums_by_day ON charge_sums (day, outcome);
CREATE INDEX payments_by_state ON payments (state, id);
CREATE INDEX payments_by_amount ON payments (amount_micros, id);
CREATE INDEX payments_credited ON payments (credited_at) WHERE credited_at IS NOT NULL;
CREATE INDEX payments_differing ON payments (id) WHERE difference IS NOT NULL;
CREATE INDEX refunds_ended ON refunds (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX transfers_by_day ON transfers (received_on, id);
CREATE INDEX transfer_changes_by_time ON transfer_changes (at);
CREATE INDEX operator_actions_by_time ON operator_actions (at, id);
`
