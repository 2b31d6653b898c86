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

/** What a plugin receives when it is created. */
export interface PluginContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly keys: KeyDirectory
  readonly reports: Reports
  readonly clock: Clock
  /** For durations. */
  readonly steadyClock: Clock
  readonly bus: PipelineBus
  readonly pools: UpstreamPools
  readonly bodies: Bodies
  readonly log: Log
  readonly pluginMetrics: PluginMetrics
  /** The usual size of responses, learned from what was settled here. */
  readonly usualOutputs: UsualOutputs
  /** Called before work is done for callers whose key is unknown. */
  readonly overload: Pick<Overload, 'admitUnknown'>
}

/** A plugin that a config can name. */
interface PluginEntry {
  /** Creates the plugin, or its stages, from options that have passed the schema. */
  create(context: PluginContext, options: Readonly<Record<string, unknown>>): Stage | readonly Stage[]
  /** The schema of its options; absent: it has none. */
  readonly options?: z.ZodType
}

/** Every plugin that an operator can name in the config. */
export type PluginRegistry = Readonly<Record<string, PluginEntry>>
