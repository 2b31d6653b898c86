import type { StandardSchemaV1 } from '@standard-schema/spec'
import { dirname } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { problemIn, type Written } from '../config/written.ts'
import { GatewayError, ownErrorRow } from '../pipeline/errors.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import type { Config, ExternalModule } from '../config/config.ts'
import type { PluginMetrics } from '../observability/plugin-metrics.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import { ExternalPlugin } from './external-plugin.ts'
import { checkHooks, loadPlugin, PluginLoadError } from '../plugin-api/load-plugin.ts'
import type { PluginContext, PluginDefinition } from '../plugin-api/plugin-api.ts'

/** What external plugins are built from. */
interface GatewayContext {
  readonly config: Config
  readonly bus: PipelineBus
  readonly clock: Clock
  readonly log: Log
  readonly pluginMetrics: PluginMetrics
}

/**
 * Creates an external plugin from its file and its options in the config.
 * @throws ConfigError that says where the config names the plugin, and what is wrong with it or its options
 */
export async function createExternal(
  { address, written }: ExternalModule,
  options: Readonly<Record<string, unknown>>,
  context: GatewayContext,
): Promise<Plugin> {
  try {
    const definition = await loadPlugin(address)
    const checked = await checkedOptions(definition.options, options, written)
    const hooks = definition.create(contextOf(definition, context), checked)
    checkHooks(definition.name, hooks)
    return new ExternalPlugin(definition, hooks, context.bus)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const text = error instanceof Error ? error.message : String(error)
    const message = error instanceof PluginLoadError ? text : `cannot be created: ${text}`
    throw new ConfigError([problemIn(written, [], message)], { cause: error })
  }
}

/** @throws ConfigError with every problem in the options */
async function checkedOptions(
  schema: StandardSchemaV1 | undefined,
  options: Readonly<Record<string, unknown>>,
  written: Written,
): Promise<unknown> {
  if (schema === undefined) {
    const unknown = Object.keys(options)
    if (unknown.length === 0) return {}
    const message = 'unknown key: this plugin takes no options but enabled'
    throw new ConfigError(unknown.map(option => problemIn(written, [option], message)))
  }
  const result = await schema['~standard'].validate(options)
  if (result.issues === undefined) return result.value
  throw new ConfigError(
    result.issues.map(({ path = [], message }) => {
      const keys = path.map(part => (typeof part === 'object' ? part.key : part))
      return problemIn(
        written,
        keys.filter(key => typeof key !== 'symbol'),
        message,
      )
    }),
  )
}

/** The context of a plugin: it gives no access to keys, credentials or bytes. */
function contextOf({ name, errors = {} }: PluginDefinition, context: GatewayContext): PluginContext {
  const log = context.log.child({ plugin: name })
  return {
    log: {
      debug: (facts, message) => log.debug(facts, message),
      info: (facts, message) => log.info(facts, message),
      warn: (facts, message) => log.warn(facts, message),
      error: (facts, message) => log.error(facts, message),
    },
    folder: dirname(context.config.file),
    now: () => context.clock.now(),
    error(code, message, options) {
      const shape = errors[code]
      if (shape === undefined)
        throw new TypeError(`The plugin "${name}" has no error "${code}": declare it in its errors.`)
      const row = ownErrorRow(code, shape.status, shape.retry ?? 'no')
      return new GatewayError({ code, row }, message, options)
    },
    counter: (metric, help, labelNames = []) => context.pluginMetrics.counter(name, metric, help, labelNames),
  }
}
