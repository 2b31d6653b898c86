import type { AccountSettings, EmailChange, LowBalance } from '../../accounts/accounts.ts'
import type { UserRow } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { StoreQueries, SqlStatement } from './store-queries.ts'

/** How a store of either kind runs statements that are rare. */
export interface StatementOptions {
  readonly queries: Pick<StoreQueries, 'all'>
  /** Runs statements as one transaction; resolves with the rows of the last one when they are on disk. */
  readonly change: (statements: readonly SqlStatement[]) => Promise<readonly UserRow[]>
  readonly clock: Clock
}

interface AlertRow {
  readonly balance: Micros
  readonly below: Micros
  readonly email: string
  readonly language: string | null
}

const ownedBy = `(SELECT account_id FROM memberships WHERE user_id = ? AND role = 'owner')`

/** Settings of accounts in a store of either kind. */
export class StoreAccountSettings implements AccountSettings {
  readonly #options: StatementOptions

  constructor(options: StatementOptions) {
    this.#options = options
  }

  async alertBelow(accountId: string): Promise<Micros | undefined> {
    const [row] = await this.#options.queries.all<{ readonly below: Micros | null }>(
      'SELECT alert_below_micros AS below FROM accounts WHERE id = ?',
      [accountId],
    )
    return row?.below ?? undefined
  }

  async setAlertBelow(accountId: string, belowMicros: Micros | undefined): Promise<void> {
    await this.#options.change([
      {
        sql: `UPDATE accounts SET alert_below_micros = ? WHERE id = ? AND kind = 'customer'`,
        values: [belowMicros ?? null, accountId],
      },
      // An alert for the previous threshold is no longer sent.
      { sql: 'DELETE FROM balance_alerts WHERE account_id = ?', values: [accountId] },
    ])
  }

  async takeAlerts(forMs: number): Promise<readonly LowBalance[]> {
    const { queries, change, clock } = this.#options
    const now = clock.now()
    // Usually there are none, and finding that out must not cost a write.
    const waiting = await queries.all<{ readonly id: string }>(
      'SELECT account_id AS id FROM balance_alerts WHERE taken_until <= ? LIMIT 100',
      [now],
    )
    const alerts: LowBalance[] = []
    for (const { id } of waiting) {
      const sql = `UPDATE balance_alerts SET taken_until = ? WHERE account_id = ? AND taken_until <= ?
        RETURNING crossings`
      const [row] = await change([{ sql, values: [now + forMs, id, now] }])
      if (row === undefined) continue
      const alert = { accountId: id, crossings: Number(row['crossings']) }
      const balance = await this.#lowBalance(id)
      if (balance === undefined) await this.endAlert(alert)
      else alerts.push({ ...alert, ...balance })
    }
    return alerts
  }

  async endAlert({ accountId, crossings }: Pick<LowBalance, 'accountId' | 'crossings'>): Promise<void> {
    await this.#options.change([
      {
        sql: 'DELETE FROM balance_alerts WHERE account_id = ? AND crossings = ?',
        values: [accountId, crossings],
      },
      { sql: 'UPDATE balance_alerts SET taken_until = 0 WHERE account_id = ?', values: [accountId] },
    ])
  }

  async changeEmail({ userId, from, to }: EmailChange): Promise<boolean> {
    const rows = await this.#options.change([
      {
        sql: `UPDATE users SET email = ?, email_verified = 1 WHERE id = ? AND email = ?
          AND NOT EXISTS (SELECT 1 FROM users AS others WHERE others.email = ?)
          AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.email = ?)`,
        values: [to, userId, from, to, to],
      },
      {
        sql: `UPDATE accounts SET email = ? WHERE email = ? AND id IN ${ownedBy}
          AND EXISTS (SELECT 1 FROM users WHERE id = ? AND users.email = ?)`,
        values: [to, from, userId, userId, to],
      },
      // Links that were sent to the old address become invalid.
      { sql: 'DELETE FROM user_verifications WHERE value = ?', values: [userId] },
      { sql: 'SELECT id FROM users WHERE id = ? AND email = ?', values: [userId, to] },
    ])
    return rows.length > 0
  }

  async #lowBalance(accountId: string): Promise<Omit<LowBalance, 'accountId' | 'crossings'> | undefined> {
    const rows = await this.#options.queries.all<AlertRow>(
      `SELECT balance_micros AS balance, alert_below_micros AS below, users.email, users.language
       FROM accounts JOIN memberships ON account_id = accounts.id AND role = 'owner'
       JOIN users ON users.id = user_id AND email_verified = 1
       WHERE accounts.id = ? AND balance_micros < alert_below_micros`,
      [accountId],
    )
    const [first] = rows
    if (first === undefined) return undefined
    const owners = rows.map(({ email, language }) => ({ email, language: language ?? undefined }))
    return { balanceMicros: first.balance, belowMicros: first.below, owners }
  }
}
