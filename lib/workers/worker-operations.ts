import type { Job, NewJob } from '../ledger/job.ts'
import type { ChargeRequest, ChargeResult, HeldSums, HoldRequest, Ledger, Micros } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { UsageLine } from '../money/usage.ts'
import type { ErrorMessage } from './peer.ts'
import type { MetricValues } from '../observability/metrics.ts'
import type { ProviderHealth, ProviderSwitch } from '../upstream/provider-health.ts'
import type { ErrorCount } from '../stores/records/error-count-table.ts'
import type { Config } from '../config/config.ts'
import type { Admission, Limits, RateLimiting, LimitUsage } from '../rate-limits/rate-limits.ts'
import type { Accounts, KeyDirectory, KeyRecord } from '../accounts/accounts.ts'
import { keyDigest } from '../accounts/memory-key-directory.ts'

/** Calls of a worker to the process that counts limits for all. The worker numbers its admissions itself. */
export type LimitOperations = {
  admit(id: number, key: string, limits: Limits, tokens: number): Promise<void>
  endAdmission(id: number, tokensUsed: number | undefined): Promise<void>
  limitUsage(key: string): Promise<LimitUsage>
}

/** Counts the use of keys' limits for one worker. Its open admissions end with it. */
export class LimitServer {
  readonly #limits: () => Promise<RateLimiting>
  readonly #open = new Map<number, Admission>()
  #isClosed = false

  /** @param limits opened at the first request */
  constructor(limits: () => Promise<RateLimiting>) {
    this.#limits = limits
  }

  readonly operations: LimitOperations = {
    admit: async (id, key, limits, tokens) => {
      const counts = await this.#limits()
      const admission = await counts.admit(key, limits, tokens)
      if (this.#isClosed) await admission.end(undefined)
      else this.#open.set(id, admission)
    },
    endAdmission: async (id, tokensUsed) => {
      const admission = this.#open.get(id)
      this.#open.delete(id)
      await admission?.end(tokensUsed)
    },
    limitUsage: async key => (await this.#limits()).taken(key),
  }

  /**
   * Frees the slots of a worker that is gone. The use of its requests is unknown, so what they reserved stays counted.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    const open = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(open.map(admission => admission.end(undefined)))
  }
}

/** A charge in a message to the ledger: its prices are given by their hash. */
export interface SentCharge extends Omit<ChargeRequest, 'lines'> {
  readonly lines: readonly { readonly usage: UsageLine; readonly priceHash: string }[]
}

/** The result of placing a hold; its worst cost is the one that counts. */
export interface PlacedHold {
  readonly worstMicros: Micros
  readonly isDurable: boolean
}

/** Ledger operations that are the same for workers and other callers. */
type SharedOperations = Pick<
  Ledger,
  | 'recordPrices'
  | 'recordObject'
  | 'findObject'
  | 'listObjects'
  | 'unlistObject'
  | 'reserveUpload'
  | 'keepUpload'
  | 'findUsage'
  | 'balance'
  | 'findJob'
  | 'dueJobs'
  | 'releaseJob'
  | 'postponeJob'
  | 'findPrices'
>

/** Calls of a worker to the process that has the ledger. The worker numbers its holds itself. */
export type LedgerOperations = SharedOperations & {
  /** When the result is not durable yet, `holdDurable` or `holdFailed` follows. */
  placeHold(holdId: number, request: HoldRequest): Promise<PlacedHold>
  /** Returns the hold's new totals. */
  growHold(holdId: number, totals: HeldSums): Promise<HeldSums>
  charge(holdId: number, charge: SentCharge): Promise<ChargeResult>
  release(holdId: number): Promise<void>
  openJob(holdId: number, job: NewJob): Promise<boolean>
  /** Sends the prices that charges of this worker will name. */
  knowPrices(prices: readonly Price[]): void
  chargeJob(job: Job, charge: SentCharge): Promise<ChargeResult | undefined>
}

/** News that a worker receives about its holds. */
export type HoldNews = {
  holdDurable(holdId: number): void
  holdFailed(holdId: number, error: ErrorMessage): void
}

/** Calls of workers to the process that started them. */
export type PrimaryOperations = LedgerOperations &
  LimitOperations & {
    /** Records an alarm. */
    noteAlarm(code: string, details: Readonly<Record<string, unknown>>): void
    /** Counts failed exchanges. */
    noteErrors(counts: readonly ErrorCount[]): void
  }

/** A config in a message to another process: its addresses are text, since URL objects cannot be serialized. */
interface ConfigMessage {
  readonly config: unknown
}

/** The operations of a worker. */
export type WorkerOperations = HoldNews &
  KeyNews & {
    /** Makes everything ready; always the first call. */
    start(worker: number, config: ConfigMessage): Promise<void>
    /** Returns the address it listens on. */
    listen(): Promise<string>
    /** Prepares another config; `takeConfig` or `dropConfig` follows. */
    prepareConfig(config: ConfigMessage): Promise<void>
    takeConfig(): void
    dropConfig(): Promise<void>
    metrics(): Promise<MetricValues>
    switchProviders(switches: readonly ProviderSwitch[]): Promise<void>
    providerHealth(): Promise<readonly ProviderHealth[]>
    /** Resolves when all exchanges have ended and everything is released. Called again, it brings the end nearer. */
    drain(drainMs: number, waitMs: number): Promise<void>
  }

/** Serializes the config, so that all workers run with exactly the same one, even if its files have changed. */
export function configMessage(config: Config): ConfigMessage {
  return { config: changed(config, value => (value instanceof URL ? { $address: value.href } : undefined)) }
}

/** Rebuilds the config. */
export function configOf({ config }: ConfigMessage): Config {
  return changed(config, value =>
    '$address' in value && typeof value.$address === 'string' ? new URL(value.$address) : undefined,
  ) as Config
}

/** A copy of maps, lists and plain objects in which some objects are replaced. */
function changed(value: unknown, replace: (value: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const replaced = replace(value)
  if (replaced !== undefined) return replaced
  if (Array.isArray(value)) return value.map(one => changed(one, replace))
  if (value instanceof Map)
    return new Map([...value].map(([name, one]) => [name, changed(one, replace)] as const))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one, replace)]))
}

/** Changes of keys that a worker receives; each call resolves when the worker has applied it. */
export type KeyNews = {
  putKey(digest: string, key: KeyRecord): void
  editKey(key: KeyRecord): void
  revokeKey(id: string, revokedAt: number): void
  blockKeys(accountId: string, blockedAt: number | null): void
}

/** Calls all workers; resolves when each has responded or is gone. */
export type AskAll = <Name extends keyof KeyNews>(
  name: Name,
  ...values: Parameters<KeyNews[Name]>
) => Promise<void>

/** Wraps `accounts` so that changes resolve when all workers have applied them, too. */
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
