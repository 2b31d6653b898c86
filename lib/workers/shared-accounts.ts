import type {
  AccountBlock,
  Accounts,
  KeyDirectory,
  KeyEdit,
  KeyRecord,
  NewKey,
} from '../accounts/accounts.ts'
import { keyDigest } from '../accounts/memory-key-directory.ts'

/** What a worker is told of keys; each is answered when the worker acts by it. */
export type KeyNews = {
  putKey(digest: string, key: KeyRecord): void
  editKey(key: KeyRecord): void
  revokeKey(id: string, revokedAt: number): void
  blockKeys(accountId: string, blockedAt: number | null): void
}

/** Asks all workers; resolves when each has answered or is gone. */
export type AskAll = <Name extends keyof KeyNews>(
  name: Name,
  ...values: Parameters<KeyNews[Name]>
) => Promise<void>

/** Changes to accounts that resolve when all workers act by them, too. */
export class SharedAccounts implements Accounts {
  readonly #accounts: Accounts
  readonly #keys: KeyDirectory
  readonly #askAll: AskAll

  constructor(accounts: Accounts, keys: KeyDirectory, askAll: AskAll) {
    this.#accounts = accounts
    this.#keys = keys
    this.#askAll = askAll
  }

  createAccount(account: Parameters<Accounts['createAccount']>[0]): Promise<{ id: string }> {
    return this.#accounts.createAccount(account)
  }

  credit(credit: Parameters<Accounts['credit']>[0]): ReturnType<Accounts['credit']> {
    return this.#accounts.credit(credit)
  }

  debit(debit: Parameters<Accounts['debit']>[0]): ReturnType<Accounts['debit']> {
    return this.#accounts.debit(debit)
  }

  async createKey(newKey: NewKey): Promise<{ id: string; key: string }> {
    const made = await this.#accounts.createKey(newKey)
    const digest = keyDigest(made.key)
    const key = this.#keys.findByDigest(digest)
    if (key !== undefined) await this.#askAll('putKey', digest, key)
    return made
  }

  async revokeKey(id: string, operator?: string): Promise<void> {
    await this.#accounts.revokeKey(id, operator)
    const revokedAt = this.#keys.findById(id)?.revokedAt
    if (revokedAt !== undefined) await this.#askAll('revokeKey', id, revokedAt)
  }

  async editKey(edit: KeyEdit): Promise<KeyRecord> {
    const key = await this.#accounts.editKey(edit)
    await this.#askAll('editKey', key)
    return key
  }

  async setBlocked(block: AccountBlock): ReturnType<Accounts['setBlocked']> {
    const answer = await this.#accounts.setBlocked(block)
    await this.#askAll('blockKeys', block.accountId, answer.blockedAt)
    return answer
  }
}
