import type { StandardSchemaV1 } from '@standard-schema/spec'
import { dirname } from 'node:path'
import { formatPath } from '../config/config-error.ts'
import { GatewayError, ownErrorRow } from '../pipeline/errors.ts'
import { PipelineOrderError } from '../pipeline/pipeline.ts'
import type { Plugin } from '../pipeline/plugin.ts'
import type { Config } from '../config/config.ts'
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
 * @param name as the config writes it
 * @param address of its file
 * @throws PipelineOrderError that names the plugin and says what is wrong with it
 */
export async function createExternal(
  name: string,
  address: string,
  options: Readonly<Record<string, unknown>>,
  context: GatewayContext,
): Promise<Plugin> {
  try {
    const definition = await loadPlugin(address)
    const checked = await checkedOptions(definition.options, options)
    const hooks = definition.create(contextOf(definition, context), checked)
    checkHooks(definition.name, hooks)
    return new ExternalPlugin(definition, hooks, context.bus)
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    const isKnown = cause instanceof PluginLoadError
    throw new PipelineOrderError(`Plugin "${name}"${isKnown ? '' : ' cannot be created'}: ${text}`, { cause })
  }
}

async function checkedOptions(
  schema: StandardSchemaV1 | undefined,
  options: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  if (schema === undefined) {
    const [option] = Object.keys(options)
    if (option === undefined) return {}
    throw new PluginLoadError(`unknown option "${option}": this plugin takes no options but enabled`)
  }
  const result = await schema['~standard'].validate(options)
  if (result.issues === undefined) return result.value
  const problems = result.issues.map(({ path = [], message }) => {
    const parts = path
      .map(part => (typeof part === 'object' ? part.key : part))
      .filter(part => typeof part !== 'symbol')
    return parts.length === 0 ? message : `${formatPath(parts)}: ${message}`
  })
  throw new PluginLoadError(problems.join('; '))
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
