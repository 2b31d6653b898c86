import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Route } from '../routes/route.ts'
import type { ChosenProvider } from './choose-provider.ts'
import type { ModelDirectory } from './model-directory.ts'
import type { Target } from './target.ts'

/** What is looked at to decide on a batch. */
export interface BatchContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly directory: ModelDirectory
}

/** Where a batch goes and what it may cost. */
export interface BatchPlan {
  readonly providers: readonly ChosenProvider[]
  readonly isPinned: boolean
  readonly model: Pick<Target, 'model' | 'modelName' | 'upstreamModelName' | 'price' | 'batch'>
}

/** Decides on a batch, whose requests have the models that it has not. */
export type PlanBatch = (
  context: BatchContext,
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
) => Promise<BatchPlan>
