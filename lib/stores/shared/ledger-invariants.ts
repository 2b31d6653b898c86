import type { StoreQueries } from './store-queries.ts'

/** At most this many breaches of one kind are listed. */
export const examplesMax = 20

/** Sentences that describe a breach, each with a query that names the rows in breach. */
type Invariants = readonly (readonly [sentence: string, query: string])[]

/** Breaches in the rows of a store, and on SQLite also in its file, as sentences. */
export async function findBreaches(queries: StoreQueries): Promise<string[]> {
  const ofKind =
    queries.kind === 'sqlite' ? await verifyFile(queries) : await findRows(queries, nodeInvariants)
  return [...ofKind, ...(await findRows(queries, invariants))]
}

async function findRows(queries: StoreQueries, invariants: Invariants): Promise<string[]> {
  const breaches: string[] = []
  for (const [sentence, query] of invariants) {
    const rows = await queries.all<{ readonly name: unknown }>(
      `SELECT name FROM (${query}) AS breaches LIMIT ${examplesMax + 1}`,
    )
    breaches.push(...rows.slice(0, examplesMax).map(({ name }) => `${sentence}: ${String(name)}`))
    if (rows.length > examplesMax) breaches.push(`${sentence}: and more of them`)
  }
  return breaches
}

async function verifyFile(queries: StoreQueries): Promise<readonly string[]> {
  const findings = await queries.all<{ readonly integrity_check: string }>('PRAGMA integrity_check')
  const breaches = findings
    .filter(finding => finding.integrity_check !== 'ok')
    .map(finding => `the file is damaged: ${finding.integrity_check}`)
  const orphans = await queries.all('PRAGMA foreign_key_check')
  return orphans.length === 0
    ? breaches
    : [...breaches, `${orphans.length} rows refer to rows that do not exist`]
}

/**
 * The invariants of every ledger, as queries that both stores understand. PostgreSQL before 16 requires an alias for
 * each subquery in FROM.
 *
 * (1) The entries of a transaction add up to zero, and so do all entries. (2) A balance is the sum of its account's
 * entries, and what a key has spent is the sum of its charges. (3) A balance covers the open holds. (4) A hold is open,
 * or resolved in one way, for good. (5) A hold has one charge. (6) The entries of a charge match it; what the account
 * could not pay is entered as `overrun` and flagged. (7) Money is an integer, and a charge is what its meters cost by
 * the price that it names. (8) The provider's usage is stored as received. (9) No hold is open beyond its expiry. (10)
 * An open job has the one open hold of its exchange, no hold waits for a job that is not open, and a charged job has
 * its charge. (11) A debt is what was overrun since debts are recorded, less what was repaid, and there is none while
 * the account has free money. (12) What an account has paid is the sum of the credits and debits that count as
 * payments. (13) The entry of a correction matches it, and corrections return no more than their charge cost.
 *
 * Checked elsewhere: types, keys and references by SQLite itself (`integrity_check`, `foreign_key_check`); prices and
 * recomputed charges in `store-reports.ts`. Not checked, because it cannot break or does not apply: that a charge is at
 * most its hold (it may use other free money), a rounding account (each line is rounded once, and the rounded amount is
 * paid), a sequence for each account (rows have one for the store, their primary key), and a rebuild of the balances,
 * which is (2).
 */

/**
 * Each query finds and names the rows that break one invariant. House accounts have no stored balance: every charge
 * would change that row, and all charges would wait for each other.
 */
export const invariants: Invariants = [
  [
    'the entries of one transaction do not add up to zero',
    `SELECT exchange_id || '/' || sequence AS name FROM entries
     GROUP BY exchange_id, sequence, revision HAVING sum(amount_micros) <> 0`,
  ],
  [
    'the balance of an account is not the sum of its entries',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND balance_micros <>
       coalesce((SELECT total FROM (SELECT account_id, sum(amount_micros) AS total FROM entries GROUP BY account_id) AS moved
                 WHERE account_id = accounts.id), 0)`,
  ],
  [
    'the balance of an account is negative',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND balance_micros < 0`,
  ],
  [
    'the open holds of an account are more than its balance',
    `SELECT accounts.id AS name FROM accounts JOIN holds ON account_id = accounts.id AND state = 'open'
     GROUP BY accounts.id, balance_micros HAVING sum(amount_micros) > balance_micros`,
  ],
  [
    'the likely cost of an open hold exceeds its worst case',
    `SELECT exchange_id || '/' || sequence AS name FROM holds WHERE state = 'open' AND worst_micros < amount_micros`,
  ],
  [
    'what an account owes is not what it has overrun, less what it has repaid',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND debt_micros + written_off_micros <>
       coalesce((SELECT total FROM (SELECT account_id, sum(overrun_micros) AS total FROM charges
         WHERE overrun_micros > 0 GROUP BY account_id) AS overruns WHERE account_id = accounts.id), 0)
       + coalesce((SELECT total FROM (SELECT account_id, sum(amount_micros) AS total FROM entries
         WHERE kind = 'repayment' GROUP BY account_id) AS repayments WHERE account_id = accounts.id), 0)`,
  ],
  [
    'an account owes money while it has free money',
    `SELECT id AS name FROM accounts WHERE debt_micros > 0 AND balance_micros <>
       (SELECT coalesce(sum(amount_micros), 0) FROM holds WHERE state = 'open' AND account_id = accounts.id)`,
  ],
  [
    'what an account has paid is not the sum of its payments and credits, less what was returned',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND paid_micros <>
       coalesce((SELECT total FROM (SELECT account_id, sum(amount_micros) AS total FROM entries
         WHERE kind IN ('credit', 'debit') AND coalesce(source, 'operator') <> 'starting' GROUP BY account_id) AS moved
         WHERE account_id = accounts.id), 0)`,
  ],
  [
    'a hold is charged, but has no charge',
    `SELECT exchange_id || '/' || sequence AS name FROM holds WHERE state = 'charged' AND NOT EXISTS
       (SELECT 1 FROM charges WHERE exchange_id = holds.exchange_id AND sequence = holds.sequence AND revision = 0)`,
  ],
  [
    'a charge has no hold of the same account that was charged',
    `SELECT exchange_id || '/' || sequence AS name FROM charges WHERE NOT EXISTS
       (SELECT 1 FROM holds WHERE exchange_id = charges.exchange_id AND sequence = charges.sequence
          AND account_id = charges.account_id AND state = 'charged')`,
  ],
  [
    'an exchange has two charges',
    `SELECT exchange_id || '/' || sequence AS name FROM charges
     GROUP BY exchange_id, sequence, revision HAVING count(*) > 1`,
  ],
  [
    'a charge and its entries differ',
    `SELECT exchange_id || '/' || sequence AS name FROM charges WHERE revision = 0 AND (
       amount_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'charge' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence AND account_id = charges.account_id), 0)
       OR overrun_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'overrun' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence), 0))`,
  ],
  [
    'an entry of a charge has no charge',
    `SELECT exchange_id || '/' || sequence AS name FROM entries WHERE kind IN ('charge', 'overrun', 'revenue')
       AND NOT EXISTS (SELECT 1 FROM charges WHERE exchange_id = entries.exchange_id
         AND sequence = entries.sequence AND revision = entries.revision)`,
  ],
  [
    'the overrun of a charge and its flag differ',
    `SELECT exchange_id || '/' || sequence AS name FROM charges
     WHERE (overrun_micros > 0) <> (flags LIKE '%"overrun"%')`,
  ],
  [
    // Days are Moscow's, as `budgetDay` of `lib/ledger/key-spending.ts` has them.
    'what a key has spent on a day is not the sum of its charges',
    `SELECT key_id || ' on day ' || day AS name FROM
       (SELECT key_id, day, spent_micros AS micros FROM key_spending
        UNION ALL SELECT key_id, (at + 10800000) / 86400000, -amount_micros - overrun_micros FROM charges) AS spending
     GROUP BY key_id, day HAVING sum(micros) <> 0`,
  ],
  [
    'what an account has spent on a model on a day is not the sum of its charges',
    `SELECT account_id || ' on day ' || day || ', ' || model AS name FROM
       (SELECT account_id, day, model, key_id, outcome, charges, spent_micros AS micros FROM charge_sums
        UNION ALL SELECT account_id, (at + 10800000) / 86400000, model, key_id, outcome, -1, -amount_micros
          FROM charges WHERE revision = 0) AS spending
     GROUP BY account_id, day, model, key_id, outcome HAVING sum(micros) <> 0 OR sum(charges) <> 0`,
  ],
  [
    'a correction and its entry differ',
    `SELECT exchange_id || '/' || sequence || '/' || revision AS name FROM charge_corrections WHERE amount_micros <>
       coalesce((SELECT amount_micros FROM entries WHERE kind = 'correction' AND entries.sequence = 0
         AND entries.account_id = charge_corrections.account_id AND entries.exchange_id = 'correction:' ||
           charge_corrections.exchange_id || '/' || charge_corrections.sequence || '/' || charge_corrections.revision), 0)`,
  ],
  [
    'an account has other entries of corrections than corrections',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND
       (SELECT count(*) FROM entries WHERE entries.kind = 'correction' AND account_id = accounts.id) <>
       (SELECT count(*) FROM charge_corrections WHERE account_id = accounts.id)`,
  ],
  [
    'the corrections of a charge return more than it cost, or less than nothing',
    `SELECT exchange_id || '/' || sequence AS name FROM
       (SELECT exchange_id, sequence, account_id, sum(amount_micros) AS micros FROM charge_corrections
        GROUP BY exchange_id, sequence, account_id) AS given
     WHERE micros < 0 OR micros > coalesce((SELECT amount_micros + overrun_micros FROM charges
       WHERE charges.exchange_id = given.exchange_id AND charges.sequence = given.sequence AND revision = 0
         AND charges.account_id = given.account_id), 0)`,
  ],
  [
    'a hold is neither open nor resolved',
    `SELECT exchange_id || '/' || sequence AS name FROM holds
     WHERE state NOT IN ('open', 'charged', 'released', 'expired') OR (state = 'open') <> (resolved_at IS NULL)`,
  ],
  [
    // Compares with the store's own latest time, so that an old backup is no breach. A clock that is set forward makes
    // every open hold look old at once, so the holds placed after the expiry must span longer than an exchange may
    // last. The two hours allow for the interval of `expireHolds` and for a clock that is set back a little.
    'a hold is open long after its expiry',
    `SELECT exchange_id || '/' || sequence AS name FROM holds
     WHERE CASE WHEN state <> 'open' OR owner = 'jobs' OR expires_at + 7200000 >= (SELECT max(created_at) FROM holds)
       THEN FALSE ELSE (SELECT max(created_at) - min(created_at) FROM holds AS later
         WHERE later.created_at > holds.expires_at + 7200000) > holds.expires_at - holds.created_at + 7200000 END`,
  ],
  [
    'a job is open, but has no open hold of its account and key',
    `SELECT provider || ' ' || kind || ' ' || id AS name FROM jobs WHERE state = 'open' AND NOT EXISTS
       (SELECT 1 FROM holds WHERE exchange_id = jobs.exchange_id AND sequence = jobs.sequence
          AND account_id = jobs.account_id AND key_id = jobs.key_id AND state = 'open' AND owner = 'jobs')`,
  ],
  [
    'an open hold waits for a job that is not open',
    `SELECT exchange_id || '/' || sequence AS name FROM holds WHERE state = 'open' AND owner = 'jobs' AND NOT EXISTS
       (SELECT 1 FROM jobs WHERE exchange_id = holds.exchange_id AND sequence = holds.sequence AND state = 'open')`,
  ],
  [
    'a job has ended, but its hold has not ended in the same way',
    `SELECT provider || ' ' || kind || ' ' || id AS name FROM jobs WHERE state <> 'open' AND NOT EXISTS
       (SELECT 1 FROM holds WHERE exchange_id = jobs.exchange_id AND sequence = jobs.sequence
          AND holds.state = jobs.state)`,
  ],
  [
    'an amount is larger than can be counted exactly',
    `SELECT exchange_id || '/' || sequence AS name FROM entries
     WHERE amount_micros > 9007199254740991 OR amount_micros < -9007199254740991`,
  ],
]

/** Invariants that only a database of several nodes can break. */
const nodeInvariants: Invariants = [
  [
    'what an account holds is not the sum of its open holds',
    `SELECT id AS name FROM accounts WHERE held_micros <>
       coalesce((SELECT sum(amount_micros) FROM holds WHERE state = 'open' AND account_id = accounts.id), 0)`,
  ],
  [
    'the stored worst case of an account is not the sum over its open holds',
    `SELECT id AS name FROM accounts WHERE worst_micros <>
       coalesce((SELECT sum(worst_micros) FROM holds WHERE state = 'open' AND account_id = accounts.id), 0)`,
  ],
  [
    'rows refer to an account that does not exist',
    `SELECT account_id AS name FROM charges WHERE account_id NOT IN (SELECT id FROM accounts)
     UNION SELECT account_id FROM entries WHERE account_id NOT IN (SELECT id FROM accounts)
     UNION SELECT account_id FROM holds WHERE account_id NOT IN (SELECT id FROM accounts)`,
  ],
]
