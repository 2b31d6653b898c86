import { steadyClock, systemClock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { createPlugins } from '../front/create-pipeline.ts'
import { PipelineBus } from '../pipeline/events.ts'
import type { Log } from '../platform/log.ts'
import type { PluginContext, PluginRegistry } from '../front/plugin-context.ts'
import { PluginMetrics } from '../observability/plugin-metrics.ts'
import { UpstreamPools } from '../upstream/upstream-pools.ts'

/** Plugins are constructed before the store is used: a plugin that uses it in its constructor gets an error. */
const absent = new Proxy(
  {},
  {
    get(_nothing, name): never {
      throw new Error(`A plugin uses ${String(name)} before it is started.`)
    },
  },
)

const silent = (): void => undefined
const silentLog: Log = {
  fatal: silent,
  error: silent,
  warn: silent,
  info: silent,
  debug: silent,
  trace: silent,
  child: () => silentLog,
}

/**
 * Checks that the config's plugins can work together, as a start does, but starts nothing: no store is opened and
 * nothing listens.
 * @throws PipelineOrderError
 */
export async function checkPipeline(config: Config, registry: PluginRegistry): Promise<void> {
  const bus = new PipelineBus((_event, error) => {
    throw error
  })
  const context: PluginContext = {
    config,
    ledger: absent as PluginContext['ledger'],
    keys: absent as PluginContext['keys'],
    reports: absent as PluginContext['reports'],
    overload: absent as PluginContext['overload'],
    clock: systemClock,
    steadyClock,
    bus,
    pools: new UpstreamPools(config),
    bodies: absent as PluginContext['bodies'],
    log: silentLog,
    pluginMetrics: new PluginMetrics(),
    usualOutputs: absent as PluginContext['usualOutputs'],
  }
  await createPlugins(config, context, registry)
}
