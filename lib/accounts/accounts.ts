import type { Micros } from '../money/amount.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    key: KeyRecord
    /** Takes the key as it is by now, if it may still be used; set for sessions. Throws a GatewayError. */
    checkKey: () => void
  }
}

/**
 * Where money comes from, or what it is taken from: starting credit is nothing that an account has paid, and what a
 * charge gives back was paid before.
 */
export type CreditSource = 'payment' | 'operator' | 'starting' | 'correction'

/** When the budget of a key begins anew; `total`: never. */
export const budgetPeriods = ['total', 'day', 'week', 'month'] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

interface KeyLimits {
  /** Models the key may use; undefined allows all. A trailing `*` stands for any ending. */
  readonly models?: readonly string[]
  readonly budgetMicros?: Micros
  /** Counts beside a budget only; `total` unless said. */
  readonly budgetPeriod?: BudgetPeriod
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
  readonly ipAddresses?: readonly string[]
}

/** A key as the gates see it. The key's value is not stored anywhere, only its SHA-256. */
export interface KeyRecord extends KeyLimits {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The last four characters, to tell keys apart in lists. */
  readonly lastFour: string
  readonly revokedAt?: number
  /** Since when its account is blocked. */
  readonly blockedAt?: number
  readonly createdAt: number
}

/** What a key is made with; amounts in micro-roubles, times in milliseconds since the epoch. */
export interface NewKey extends KeyLimits {
  readonly accountId: string
  readonly name?: string
  /** With so many keys that are not revoked, the account gets no more. */
  readonly activeKeysMax?: number
}

/** What an operator changes of a key: a limit of null ends, one that is undefined stays. */
export interface KeyEdit {
  readonly id: string
  readonly name?: string
  readonly models?: readonly string[] | null
  readonly budgetMicros?: Micros | null
  /** Counts beside a budget only; `total` unless said. */
  readonly budgetPeriod?: BudgetPeriod
  readonly expiresAt?: number | null
  readonly ipAddresses?: readonly string[] | null
  /** For the operators' log. */
  readonly reason: string
  /** Who does it. */
  readonly operator: string
}

/** Money that comes in or goes out. */
export interface Movement {
  readonly accountId: string
  readonly amountMicros: Micros
  readonly reason: string
  /** Makes a repeat of the same movement a no-op. */
  readonly idempotencyKey?: string
  /** The operator's, unless said. */
  readonly source?: CreditSource
}

/** An account's block, or its end. */
export interface AccountBlock {
  readonly accountId: string
  readonly isBlocked: boolean
  /** For the operators' log. */
  readonly reason: string
  /** Who does it. */
  readonly operator: string
}

/**
 * Changes to accounts and keys. Each resolves when it is on disk and this process acts by it.
 * Errors are AccountError: `account_not_found`, `key_not_found`, `key_limit`, `email_taken` ...
 */
export interface Accounts {
  createAccount(account: { readonly email: string; readonly name?: string }): Promise<{ id: string }>
  /** Books money in, which pays what is owed first. */
  credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>
  /**
   * Takes money out: a refund, or a correction. Refused as `balance_insufficient` when what is left would not cover
   * what is held, or with the account's risk the worst of it.
   */
  debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>
  /** The key's value is in the answer and nowhere else, ever. */
  createKey(key: NewKey): Promise<{ id: string; key: string }>
  /** @param operator whose act it is, for the operators' log; a customer's own is not there */
  revokeKey(id: string, operator?: string): Promise<void>
  /** Changes a key that is not revoked; requests that begin from then on meet it as it is. Answers the key. */
  editKey(edit: KeyEdit): Promise<KeyRecord>
  /**
   * Blocks an account or ends its block: its keys are refused from then on, and it gets no new ones. What runs goes on
   * and is charged. Answers since when it is blocked, in milliseconds since the epoch; null: it is not.
   */
  setBlocked(block: AccountBlock): Promise<{ readonly blockedAt: number | null }>
}

/** Finds keys in memory, by digest, at the same cost for hits and misses. */
export interface KeyDirectory {
  /** @param digest SHA-256 of the whole key, as base64url */
  findByDigest(digest: string): KeyRecord | undefined
  findById(id: string): KeyRecord | undefined
}

/** A change of an account or key that is refused. The message is for the operator. */
export class AccountError extends Error {
  readonly code: string
  /** What of the message is money, by name in micro-roubles; it stays in its process. */
  readonly amounts: Readonly<Record<string, number>>

  constructor(code: string, message: string, amounts: Readonly<Record<string, number>> = {}) {
    super(message)
    this.name = 'AccountError'
    this.code = code
    this.amounts = amounts
  }
}

/** Nothing can be done for an account that there is not. */
export function accountNotFound(accountId: string): AccountError {
  return new AccountError('account_not_found', `there is no account ${accountId}`)
}

/** Another movement came with the idempotency key of this one. */
export function idempotencyConflict(kind: 'credit' | 'debit'): AccountError {
  return new AccountError('idempotency_conflict', `another ${kind} was booked under this idempotency key`)
}

/** An account whose balance has fallen below what its owners asked to be told of. */
export interface LowBalance {
  readonly accountId: string
  readonly balanceMicros: Micros
  readonly belowMicros: Micros
  /** How often, since somebody was told last. */
  readonly crossings: number
  /** Whose email is confirmed. */
  readonly owners: readonly { readonly email: string; readonly language: string | undefined }[]
}

/** Another email for a user. */
export interface EmailChange {
  readonly userId: string
  readonly from: string
  readonly to: string
}

/** What owners set for their accounts. What changes something resolves when it is on the disk. */
export interface AccountSettings {
  /** The bound of the low-balance alert; undefined when there is none. */
  alertBelow(accountId: string): Promise<Micros | undefined>
  setAlertBelow(accountId: string, belowMicros: Micros | undefined): Promise<void>
  /**
   * Takes the alerts that nobody tells of, for so long: another node, or this one after a crash, takes what was
   * not ended by then. An account that is above its bound again has none.
   */
  takeAlerts(forMs: number): Promise<readonly LowBalance[]>
  /** The owners were told; what was crossed since it was taken is still to be told. */
  endAlert(alert: Pick<LowBalance, 'accountId' | 'crossings'>): Promise<void>
  /** Gives a user and their account another email; false when it is taken, or `from` is theirs no more. */
  changeEmail(change: EmailChange): Promise<boolean>
}
