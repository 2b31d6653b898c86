import type { RawBuilder, Sql } from 'kysely'

/** Entries that moved a balance and belong to no charge. An index is used where a query says just the same. */
const movementCondition = `kind <> 'charge' AND kind <> 'revenue' AND kind <> 'cash' AND kind <> 'overrun'`

/** Whether an entry is such. */
export function isMovement(sql: Sql): RawBuilder<boolean> {
  return sql<boolean>`${sql.raw(movementCondition)}`
}

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
