import type { AccountBlock, Accounts, KeyEdit, KeyRecord, Movement, NewKey } from '../../accounts/accounts.ts'
import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/new-id.ts'
import {
  accountEmail,
  blockedAnswer,
  blockStatements,
  newKeyRow,
  openedAnswer,
  openStatements,
  type BlockedRow,
} from './account-rules.ts'
import {
  keyRecord,
  madeAnswer,
  makeStatements,
  revokedAnswer,
  revokeStatements,
  type MadeRow,
  type RevokedRow,
} from './stored-keys.ts'
import type { SqlStatement } from './user-tables.ts'

interface StoredAccountsOptions {
  readonly keys: MemoryKeyDirectory
  readonly clock: Clock
}

/** Changes of accounts and keys in a store of either kind: on the disk first, then in memory. */
export abstract class StoredAccounts implements Accounts {
  readonly #keys: MemoryKeyDirectory
  readonly #clock: Clock

  constructor({ keys, clock }: StoredAccountsOptions) {
    this.#keys = keys
    this.#clock = clock
  }

  async createAccount(account: { readonly email: string; readonly name?: string }): Promise<{ id: string }> {
    const email = accountEmail(account.email)
    const opened = { id: newId(), userId: newId(), email, name: account.name ?? null }
    openedAnswer(opened, await this.change(openStatements(opened, this.#clock.now())))
    return { id: opened.id }
  }

  abstract credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>

  abstract debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>

  async createKey(key: NewKey): Promise<{ id: string; key: string }> {
    const { row, value } = newKeyRow(key, this.#clock.now())
    const { activeKeysMax } = key
    madeAnswer(row, activeKeysMax, await this.change<MadeRow>(makeStatements(row, activeKeysMax)))
    this.#keys.put(row.digest, keyRecord(row))
    await this.told('id', row.id)
    return { id: row.id, key: value }
  }

  async revokeKey(id: string, operator?: string): Promise<void> {
    const statements = revokeStatements({ id, operator, actionId: newId() }, this.#clock.now())
    this.#keys.revoke(id, revokedAnswer(id, await this.change<RevokedRow>(statements)))
    await this.told('id', id)
  }

  abstract editKey(edit: KeyEdit): Promise<KeyRecord>

  async setBlocked(block: AccountBlock): Promise<{ readonly blockedAt: number | null }> {
    const { accountId } = block
    const statements = blockStatements(block, newId(), this.#clock.now())
    const { blockedAt } = blockedAnswer(block, await this.change<BlockedRow>(statements))
    this.#keys.block(accountId, blockedAt)
    await this.told('account_id', accountId)
    return { blockedAt }
  }

  /** Runs statements as one transaction; answers the rows of the last one when they are on the disk. */
  protected abstract change<Row extends object>(statements: readonly SqlStatement[]): Promise<readonly Row[]>

  /** Waits until whoever else has keys in memory knows of a change of some. */
  protected async told(_column: 'id' | 'account_id', _value: string): Promise<void> {}
}
