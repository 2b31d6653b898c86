import { answerError } from '../listener/answer-error.ts'
import { asGatewayError } from '../ledger/as-gateway-error.ts'
import type { Config } from '../config/config.ts'
import { checkOrder, PipelineOrderError, Pipeline } from '../pipeline/pipeline.ts'
import { DrainSlots } from '../pipeline/relay-limits.ts'
import type { Fact } from '../pipeline/exchange.ts'
import { errorText } from '../websocket/session-call.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import { createExternal } from '../external-plugins/external-entry.ts'
import type { PluginContext, PluginRegistry } from './plugin-context.ts'

/**
 * Limits on reading for usage after a client has left: longer than most providers take to respond, reasoning included.
 */
const drainLimits = { timeMs: 600_000, bytesMax: 64 * 1_048_576 }
/**
 * How many responses are read at once after their clients have left. Each holds a provider connection and some 64 KB.
 */
const drainsMax = 1000

/** The facts that are set before the first gate. */
const givenFacts: readonly Fact[] = ['route']

/**
 * Creates the config's plugins.
 * @throws PipelineOrderError when there is none of a name, they cannot work in this order, or the config charges nothing
 * without saying so; ConfigError when an external one cannot be created or its options are invalid
 */
export async function createPlugins(
  config: Config,
  context: PluginContext,
  registry: PluginRegistry,
): Promise<Plugin[]> {
  const plugins: Plugin[] = []
  try {
    for (const { name, options, external } of config.plugins) {
      if (external !== undefined) {
        plugins.push(await createExternal(external, options, context))
        continue
      }
      const entry = registry[name]
      if (entry === undefined) throw new PipelineOrderError(`There is no plugin "${name}".`)
      for (const stage of [entry.create(context, options)].flat())
        plugins.push(Object.assign(stage, { name }))
    }
    if (!config.unmetered && !plugins.some(plugin => plugin.name === 'usage-tap')) {
      throw new PipelineOrderError(
        'Without the plugin "usage-tap" nothing is charged. Enable it, or say "unmetered: true" if that is meant.',
      )
    }
    checkOrder(plugins, givenFacts)
    return plugins
  } catch (error) {
    // They share the gateway's connections: those of a rejected config must not stay beside those in force.
    for (const plugin of plugins) await plugin.stop?.()
    throw error
  }
}

/**
 * Creates the config's plugins and the pipeline of them.
 * @throws PipelineOrderError when they cannot work together
 */
export async function createPipeline(
  config: Config,
  context: PluginContext,
  registry: PluginRegistry,
): Promise<Pipeline> {
  const { answerMs, answerBytesMax, stallMs } = config.limits
  const plugins = await createPlugins(config, context, registry)
  for (const { name } of plugins) context.pluginMetrics.names.add(name)
  return new Pipeline(plugins, {
    given: givenFacts,
    bus: context.bus,
    limits: {
      answer: { timeMs: answerMs, bytesMax: answerBytesMax },
      drain: drainLimits,
      drainSlots: new DrainSlots(drainsMax),
      stallMs,
    },
    writeError(exchange, error) {
      const { dialect } = exchange.get('route')
      const client = exchange.find('client')
      if (client?.isAccepted === true) return client.refuse(error, errorText(exchange, error))
      answerError(exchange.response, dialect, asGatewayError(error), exchange.id, exchange.extraHeaders)
    },
  })
}
