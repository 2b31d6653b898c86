import type { MetricValues } from '../observability/metrics.ts'
import type { ProviderHealth, ProviderSwitch } from '../upstream/provider-health.ts'
import type { ConfigMessage } from './config-message.ts'
import type { HoldNews, LedgerOperations } from './ledger-operations.ts'
import type { LimitOperations } from './limit-server.ts'
import type { KeyNews } from './shared-accounts.ts'

/** What workers ask of the process that started them. */
export type PrimaryOperations = LedgerOperations &
  LimitOperations & {
    /** An alarm was raised, to be kept. */
    noteAlarm(code: string, details: Readonly<Record<string, unknown>>): void
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
