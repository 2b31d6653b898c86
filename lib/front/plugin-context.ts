import type { z } from 'zod'
import type { KeyDirectory } from '../accounts/accounts.ts'
import type { Bodies } from '../bodies/bodies.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { UsualOutputs } from '../metering/usual-outputs.ts'
import type { Reports } from '../ledger/reports.ts'
import type { Log } from '../platform/log.ts'
import type { Overload } from '../overload/overload.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Stage } from '../pipeline/plugin.ts'
import type { PluginMetrics } from '../observability/plugin-metrics.ts'
import type { UpstreamPools } from '../upstream/upstream-pools.ts'

/** What a plugin is given when it is made. */
export interface PluginContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly keys: KeyDirectory
  readonly reports: Reports
  readonly clock: Clock
  /** For how long something lasts. */
  readonly steadyClock: Clock
  readonly bus: PipelineBus
  readonly pools: UpstreamPools
  readonly bodies: Bodies
  readonly log: Log
  readonly pluginMetrics: PluginMetrics
  /** What responses usually have, by what was settled here. */
  readonly usualOutputs: UsualOutputs
  /** Asked before work is done for callers whose key is unknown. */
  readonly overload: Pick<Overload, 'admitUnknown'>
}

/** A plugin that a config can name. */
interface PluginEntry {
  /** Makes the plugin, or the stages that it has, from its options, which have passed the schema. */
  create(context: PluginContext, options: Readonly<Record<string, unknown>>): Stage | readonly Stage[]
  /** What its options may be; absent: it takes none. */
  readonly options?: z.ZodType
}

/** Every plugin an operator can name in the config. */
export type PluginRegistry = Readonly<Record<string, PluginEntry>>
