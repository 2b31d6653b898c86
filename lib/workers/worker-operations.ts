import type { Job, NewJob } from '../ledger/job.ts'
import type { ChargeRequest, ChargeResult, HeldSums, HoldRequest, Ledger, Micros } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { UsageLine } from '../money/usage.ts'
import type { ErrorMessage } from './peer.ts'
import type { MetricValues } from '../observability/metrics.ts'
import type { ProviderHealth, ProviderSwitch } from '../upstream/provider-health.ts'
import type { ErrorCount } from '../stores/records/error-count-table.ts'
import type { Config } from '../config/config.ts'
import type { Admission, Limits, RateLimiting, TakenOfLimits } from '../rate-limits/rate-limits.ts'
import type { Accounts, KeyDirectory, KeyRecord } from '../accounts/accounts.ts'
import { keyDigest } from '../accounts/memory-key-directory.ts'

/** What a worker asks of the process that counts for all. Admissions are named by numbers of the worker's own. */
export type LimitOperations = {
  admit(id: number, key: string, limits: Limits, tokens: number): Promise<void>
  endAdmission(id: number, tokensUsed: number | undefined): Promise<void>
  takenOfLimits(key: string): Promise<TakenOfLimits>
}

/** Counts for one worker what its requests take of their keys' limits. What is open ends with it. */
export class LimitServer {
  readonly #limits: () => Promise<RateLimiting>
  readonly #open = new Map<number, Admission>()
  #isClosed = false

  /** @param limits opened when the first request asks */
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
    takenOfLimits: async key => (await this.#limits()).taken(key),
  }

  /** Frees the slots of a worker that is gone. What its requests used nobody knows, so what they took stays. */
  async close(): Promise<void> {
    this.#isClosed = true
    const open = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(open.map(admission => admission.end(undefined)))
  }
}

/** A charge on its way to the ledger: its prices by their hash. */
export interface SentCharge extends Omit<ChargeRequest, 'lines'> {
  readonly lines: readonly { readonly usage: UsageLine; readonly priceHash: string }[]
}

/** What became of a hold that was placed; its worst cost is the one that counts. */
export interface PlacedHold {
  readonly worstMicros: Micros
  readonly isDurable: boolean
}

/** What the ledger does for a worker as for anybody. */
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

/** What a worker asks of the process that has the ledger. Holds are named by numbers of the worker's own. */
export type LedgerOperations = SharedOperations & {
  /** What of it is not durable yet is followed by `holdDurable` or `holdFailed`. */
  placeHold(holdId: number, request: HoldRequest): Promise<PlacedHold>
  /** Answers the hold's totals from now on. */
  growHold(holdId: number, totals: HeldSums): Promise<HeldSums>
  charge(holdId: number, charge: SentCharge): Promise<ChargeResult>
  release(holdId: number): Promise<void>
  openJob(holdId: number, job: NewJob): Promise<boolean>
  /** Prices that charges of this worker are about to name. */
  knowPrices(prices: readonly Price[]): void
  chargeJob(job: Job, charge: SentCharge): Promise<ChargeResult | undefined>
}

/** What the worker is told of its holds. */
export type HoldNews = {
  holdDurable(holdId: number): void
  holdFailed(holdId: number, error: ErrorMessage): void
}

/** What workers ask of the process that started them. */
export type PrimaryOperations = LedgerOperations &
  LimitOperations & {
    /** An alarm was raised, to be kept. */
    noteAlarm(code: string, details: Readonly<Record<string, unknown>>): void
    /** Exchanges failed, to be counted. */
    noteErrors(counts: readonly ErrorCount[]): void
  }

/** A config on its way to another process: its addresses as text, since their class does not travel. */
interface ConfigMessage {
  readonly config: unknown
}

/** What a worker can be asked. */
export type WorkerOperations = HoldNews &
  KeyNews & {
    /** Makes everything ready; the first thing that is asked. */
    start(worker: number, config: ConfigMessage): Promise<void>
    /** Answers where it listens. */
    listen(): Promise<string>
    /** Makes another config ready; `takeConfig` or `dropConfig` follows. */
    prepareConfig(config: ConfigMessage): Promise<void>
    takeConfig(): void
    dropConfig(): Promise<void>
    metrics(): Promise<MetricValues>
    switchProviders(switches: readonly ProviderSwitch[]): Promise<void>
    providerHealth(): Promise<readonly ProviderHealth[]>
    /** Resolves when it has ended what ran and given everything back. Asked again, it brings the end nearer. */
    drain(drainMs: number, waitMs: number): Promise<void>
  }

/** What is sent to a worker, so that all act by the very same config, whatever became of its files. */
export function configMessage(config: Config): ConfigMessage {
  return { config: changed(config, value => (value instanceof URL ? { $address: value.href } : undefined)) }
}

/** The config again. */
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
