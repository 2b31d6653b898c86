import type {
  Consent,
  Membership,
  RowChange,
  RowCondition,
  RowQuery,
  UserRow,
  UserRows,
  UserTable,
} from '../../accounts/user-rows.ts'
import { newId } from '../../platform/new-id.ts'
import { accountEmail } from './stored-accounts.ts'
import type { StatementOptions } from './store-account-settings.ts'
import { countRows, deleteRows, insertRow, selectRows, updateRows } from './user-tables.ts'
import type { SqlStatement } from './store-queries.ts'

interface UserRowsOptions extends StatementOptions {
  /** Called with an account that is new and empty. */
  readonly onAccount?: (accountId: string) => void
}

function insertConsent(userId: string, { kind, version, language, address, at }: Consent): SqlStatement {
  return {
    sql: `INSERT INTO user_consents (id, user_id, kind, version, language, address, at)
          VALUES (?, ?, ?, ?, ?, ?, ?)`,
    values: [newId(), userId, kind, version, language, address, at],
  }
}

const mark = `'unconfirmed-' || users.id || '@deleted.invalid'`

// Only users who signed up themselves have consents. When an account is closed, its consents stay as proof.
const isUnconfirmed = `users.email_verified = 0 AND users.created_at < ?
  AND users.email <> 'deleted-' || users.id || '@deleted.invalid'
  AND EXISTS (SELECT 1 FROM user_consents WHERE user_consents.user_id = users.id)
  AND NOT EXISTS (
    SELECT 1 FROM memberships JOIN accounts ON accounts.id = memberships.account_id
    WHERE memberships.user_id = users.id AND (accounts.balance_micros <> 0
      OR EXISTS (SELECT 1 FROM keys WHERE keys.account_id = accounts.id)))`

/** Users who signed up before a time, have not confirmed their email, and whose account has never been used. */
function selectUnconfirmed(madeBefore: number, limit: number): SqlStatement {
  return { sql: `SELECT id FROM users WHERE ${isUnconfirmed} LIMIT ?`, values: [madeBefore, limit] }
}

/**
 * Removes such a user and the personal data of the account. The first statement marks the user, so that a user who
 * confirms at the same moment is either kept or removed as a whole; only the consents of a marked user may be deleted.
 */
function removeUnconfirmed(userId: string, madeBefore: number): readonly SqlStatement[] {
  const marked = `(SELECT id FROM users WHERE id = ? AND email = ${mark})`
  const values = [userId]
  return [
    {
      sql: `UPDATE users SET email = ${mark} WHERE id = ? AND ${isUnconfirmed}`,
      values: [userId, madeBefore],
    },
    {
      sql: `UPDATE accounts SET email = 'deleted-' || id || '@deleted.invalid', name = NULL
        WHERE id IN (SELECT account_id FROM memberships WHERE role = 'owner' AND user_id IN ${marked})`,
      values,
    },
    { sql: `DELETE FROM user_verifications WHERE value IN ${marked}`, values },
    ...['memberships', 'user_sessions', 'user_passwords', 'user_two_factors', 'user_consents'].map(table => ({
      sql: `DELETE FROM ${table} WHERE user_id IN ${marked}`,
      values,
    })),
    { sql: `DELETE FROM users WHERE id IN ${marked} RETURNING id`, values },
  ]
}

/** Users in a store of either kind. */
export class StoreUserRows implements UserRows {
  readonly #options: UserRowsOptions

  constructor(options: UserRowsOptions) {
    this.#options = options
  }

  async find(table: UserTable, query: RowQuery): Promise<readonly UserRow[]> {
    return this.#read(selectRows(table, query))
  }

  async count(table: UserTable, where: readonly RowCondition[] = []): Promise<number> {
    const [row] = await this.#read(countRows(table, where))
    return Number(row?.['count'] ?? 0)
  }

  async insert(table: UserTable, row: UserRow): Promise<void> {
    await this.#options.change([insertRow(table, row)])
  }

  async update(
    table: UserTable,
    where: readonly RowCondition[],
    change: RowChange,
  ): Promise<readonly UserRow[]> {
    return where.length === 0 ? [] : this.#options.change([updateRows(table, where, change)])
  }

  async delete(
    table: UserTable,
    where: readonly RowCondition[],
    limit?: number,
  ): Promise<readonly UserRow[]> {
    return where.length === 0 ? [] : this.#options.change([deleteRows(table, where, limit)])
  }

  async createUser(user: UserRow, consents: readonly Consent[]): Promise<void> {
    const userId = String(user['id'])
    const email = accountEmail(String(user['email']))
    const accountId = newId()
    const now = this.#options.clock.now()
    await this.#options.change([
      insertRow('users', { ...user, email }),
      {
        sql: `INSERT INTO accounts (id, kind, name, email, created_at) VALUES (?, 'customer', ?, ?, ?)`,
        values: [accountId, user['name'] ?? null, email, now],
      },
      {
        sql: `INSERT INTO memberships (user_id, account_id, role, created_at) VALUES (?, ?, 'owner', ?)`,
        values: [userId, accountId, now],
      },
      ...consents.map(consent => insertConsent(userId, consent)),
    ])
    this.#options.onAccount?.(accountId)
  }

  async addConsents(userId: string, consents: readonly Consent[]): Promise<void> {
    await this.#options.change(consents.map(consent => insertConsent(userId, consent)))
  }

  consents(userId: string): Promise<readonly Consent[]> {
    return this.#options.queries.all<Consent>(
      'SELECT kind, version, language, address, at FROM user_consents WHERE user_id = ? ORDER BY at, kind',
      [userId],
    )
  }

  async deleteUnconfirmed(madeBefore: number, limit: number): Promise<number> {
    let count = 0
    for (const { id } of await this.#read(selectUnconfirmed(madeBefore, limit))) {
      count += (await this.#options.change(removeUnconfirmed(String(id), madeBefore))).length
    }
    return count
  }

  memberships(userId: string): Promise<readonly Membership[]> {
    return this.#options.queries.all<Membership>(
      `SELECT account_id AS "accountId", role FROM memberships WHERE user_id = ? ORDER BY created_at, account_id`,
      [userId],
    )
  }

  async secret(name: string, candidate: string): Promise<string> {
    const now = this.#options.clock.now()
    await this.#options.change([
      {
        sql: 'INSERT INTO secrets (name, value, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        values: [name, candidate, now],
      },
    ])
    const [row] = await this.#options.queries.all<{ readonly value: string }>(
      'SELECT value FROM secrets WHERE name = ?',
      [name],
    )
    if (row === undefined) throw new Error(`the store has no secret ${name}`)
    return row.value
  }

  #read({ sql, values }: SqlStatement): Promise<readonly UserRow[]> {
    return this.#options.queries.all<UserRow>(sql, values)
  }
}
