import type { Micros } from '../money/amount.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    key: KeyRecord
    /** Replaces the key with its current state, if it may still be used; set for sessions. Throws a GatewayError. */
    checkKey: () => void
  }
}

/**
 * Where money comes from, or what it is deducted from: starting credit is not money that an account has paid, and what
 * a correction returns was paid before.
 */
export type CreditSource = 'payment' | 'operator' | 'starting' | 'correction'

/** When the budget of a key resets; `total`: never. */
export const budgetPeriods = ['total', 'day', 'week', 'month'] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

interface KeyLimits {
  /** Models the key may use; undefined allows all. A trailing `*` matches any ending. */
  readonly models?: readonly string[]
  readonly budgetMicros?: Micros
  /** Only used with a budget; `total` by default. */
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

/** The options of a new key; amounts in micro-roubles, times in milliseconds since the epoch. */
export interface NewKey extends KeyLimits {
  readonly accountId: string
  readonly name?: string
  /** An account with this many keys that are not revoked gets no more. */
  readonly activeKeysMax?: number
}

/** An operator's change of a key: null removes a limit, undefined keeps it. */
export interface KeyEdit {
  readonly id: string
  readonly name?: string
  readonly models?: readonly string[] | null
  readonly budgetMicros?: Micros | null
  /** Only used with a budget; `total` by default. */
  readonly budgetPeriod?: BudgetPeriod
  readonly expiresAt?: number | null
  readonly ipAddresses?: readonly string[] | null
  /** For the operators' log. */
  readonly reason: string
  /** The operator who changes it. */
  readonly operator: string
}

/** Money that comes in or goes out. */
export interface Movement {
  readonly accountId: string
  readonly amountMicros: Micros
  readonly reason: string
  /** Makes a repetition of the same movement a no-op. */
  readonly idempotencyKey?: string
  /** `operator` by default. */
  readonly source?: CreditSource
}

/** An account's block, or its end. */
export interface AccountBlock {
  readonly accountId: string
  readonly isBlocked: boolean
  /** For the operators' log. */
  readonly reason: string
  /** The operator who blocks or unblocks it. */
  readonly operator: string
}

/**
 * Changes to accounts and keys. Each resolves when it is on disk and in effect in this process. Errors are
 * AccountError: `account_not_found`, `key_not_found`, `key_limit`, `email_taken` ...
 */
export interface Accounts {
  createAccount(account: { readonly email: string; readonly name?: string }): Promise<{ id: string }>
  /** Books money in, which pays debts first. */
  credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>
  /**
   * Books money out: a refund, or a correction. Refused as `balance_insufficient` when the rest would not cover what is
   * held, or with the account's risk the worst of it.
   */
  debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>
  /** The key's value is in this result and nowhere else, ever. */
  createKey(key: NewKey): Promise<{ id: string; key: string }>
  /** @param operator who revokes it, for the operators' log; a customer's own revocation is not logged there */
  revokeKey(id: string, operator?: string): Promise<void>
  /** Changes a key that is not revoked; requests that begin from then on see the change. Resolves with the key. */
  editKey(edit: KeyEdit): Promise<KeyRecord>
  /**
   * Blocks an account or ends its block: its keys are refused from then on, and it gets no new ones. Running exchanges
   * continue and are charged. Resolves with the time of the block, in milliseconds since the epoch; null: the account
   * is not blocked.
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
  /** The amounts in the message, by name in micro-roubles; they stay in this process. */
  readonly amounts: Readonly<Record<string, number>>

  constructor(code: string, message: string, amounts: Readonly<Record<string, number>> = {}) {
    super(message)
    this.name = 'AccountError'
    this.code = code
    this.amounts = amounts
  }
}

/** The error for an unknown account. */
export function accountNotFound(accountId: string): AccountError {
  return new AccountError('account_not_found', `there is no account ${accountId}`)
}

/** The error for an idempotency key that another movement has used. */
export function idempotencyConflict(kind: 'credit' | 'debit'): AccountError {
  return new AccountError('idempotency_conflict', `another ${kind} was booked under this idempotency key`)
}

/** An account whose balance has fallen below its owners' threshold for alerts. */
export interface LowBalance {
  readonly accountId: string
  readonly balanceMicros: Micros
  readonly belowMicros: Micros
  /** How often, since the last alert was sent. */
  readonly crossings: number
  /** The owners whose email is confirmed. */
  readonly owners: readonly { readonly email: string; readonly language: string | undefined }[]
}

/** A change of a user's email. */
export interface EmailChange {
  readonly userId: string
  readonly from: string
  readonly to: string
}

/** Owners' settings of their accounts. Changes resolve when they are on disk. */
export interface AccountSettings {
  /** The threshold of the low-balance alert; undefined when there is none. */
  alertBelow(accountId: string): Promise<Micros | undefined>
  setAlertBelow(accountId: string, belowMicros: Micros | undefined): Promise<void>
  /**
   * Claims unsent alerts for `forMs`: another node, or this one after a crash, claims those that were not ended by
   * then. An account that is above its threshold again has none.
   */
  takeAlerts(forMs: number): Promise<readonly LowBalance[]>
  /** The owners were alerted; crossings since the claim are still to be reported. */
  endAlert(alert: Pick<LowBalance, 'accountId' | 'crossings'>): Promise<void>
  /** Changes the email of a user and their account; false when another has it, or `from` is no longer theirs. */
  changeEmail(change: EmailChange): Promise<boolean>
}
