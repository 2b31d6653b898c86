import type { Accounts, KeyDirectory, KeyRecord } from '../accounts/accounts.ts'
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
export function sharedAccounts(accounts: Accounts, keys: KeyDirectory, askAll: AskAll): Accounts {
  return {
    createAccount: account => accounts.createAccount(account),
    credit: credit => accounts.credit(credit),
    debit: debit => accounts.debit(debit),
    async createKey(newKey) {
      const made = await accounts.createKey(newKey)
      const digest = keyDigest(made.key)
      const key = keys.findByDigest(digest)
      if (key !== undefined) await askAll('putKey', digest, key)
      return made
    },
    async revokeKey(id, operator) {
      await accounts.revokeKey(id, operator)
      const revokedAt = keys.findById(id)?.revokedAt
      if (revokedAt !== undefined) await askAll('revokeKey', id, revokedAt)
    },
    async editKey(edit) {
      const key = await accounts.editKey(edit)
      await askAll('editKey', key)
      return key
    },
    async setBlocked(block) {
      const answer = await accounts.setBlocked(block)
      await askAll('blockKeys', block.accountId, answer.blockedAt)
      return answer
    },
  }
}
