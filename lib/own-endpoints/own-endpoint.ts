import type { KeyRecord } from '../accounts/accounts.ts'
import type { Bodies } from '../bodies/bodies.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Reports } from '../ledger/reports.ts'
import type { UsualOutputs } from '../metering/usual-outputs.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/** What an own endpoint may look at. */
export interface OwnRequest {
  readonly config: Config
  readonly ledger: Ledger
  readonly reports: Reports
  readonly directory: ModelDirectory
  readonly clock: Clock
  readonly bus: PipelineBus
  readonly exchange: Exchange
  readonly key: KeyRecord
  readonly bodies: Bodies
  readonly usualOutputs: UsualOutputs
}
