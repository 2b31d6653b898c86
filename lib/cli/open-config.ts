import type { Config, ModelNames, ModelConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { findConfig } from '../config/environment.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { loadModelNames, loadProviderNames, loadSection, loadStoreSetting } from '../config/load-section.ts'
import type { ConfigKey, Settings } from '../config/schema.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { PluginRegistry } from '../front/plugin-context.ts'
import { CommandError, type SharedOptions } from './command.ts'
import { readProblem } from '../platform/file-problem.ts'

/**
 * @param plugins the shipped ones, for a command that needs the list of plugins
 * @throws CommandError that lists the errors in the configuration
 */
export function openConfig(options: SharedOptions, plugins?: PluginRegistry): LoadedConfig {
  return readFrom(options, file => loadConfig(file, plugins === undefined ? {} : { plugins }))
}

/**
 * The seller, payments and web pages of the configuration. Providers' secrets need not be set.
 * @throws CommandError that lists the errors in these parts of the configuration
 */
export function openHouseConfig(options: SharedOptions): Config {
  return readFrom(options, file => loadConfig(file, { use: 'house' }).config)
}

/**
 * Models and prices of the configuration. Secrets need not be set; a provider whose key is not set is off.
 * @throws CommandError that lists the errors in it
 */
export function openPriceConfig(options: SharedOptions): LoadedConfig {
  return readFrom(options, file => loadConfig(file, { use: 'prices' }))
}

/**
 * A section of a configuration that may be invalid elsewhere, or lack secrets that the section does not name.
 * @throws CommandError
 */
function openSection<K extends ConfigKey>(options: SharedOptions, key: K): Settings[K] {
  return readFrom(options, file => loadSection(file, key))
}

/** The settings of the operators' pages; undefined where they are off. */
export const openOperatorArea = (options: SharedOptions): Config['operatorArea'] =>
  openSection(options, 'operatorArea')
/** The limits on worst-case costs beyond an account's money. */
export const openRiskRule = (options: SharedOptions): RiskRule => openSection(options, 'hold').risk
/** The zone in which times are read and printed. */
export const openTimeZone = (options: SharedOptions): string => openSection(options, 'timeZone')
export const openStoreSetting = (options: SharedOptions): Config['store'] =>
  readFrom(options, loadStoreSetting)
export const openModelNames = (options: SharedOptions): ModelNames => readFrom(options, loadModelNames)
/** The names of providers. */
export const openProviderNames = (options: SharedOptions): readonly string[] =>
  readFrom(options, loadProviderNames)

function readFrom<T>(options: SharedOptions, read: (file: string) => T): T {
  const file = findConfig(options.config)
  if (readProblem(file)?.isMissing === true) {
    throw new CommandError(
      `there is no configuration at ${file}: name one with --config FILE or GATEWAY_CONFIG`,
    )
  }
  try {
    return read(file)
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(`the configuration is wrong:\n${error.message}`)
    throw error
  }
}

/** Whether a provider of the model is on. */
export function isServed({ providers }: Config, model: ModelConfig): boolean {
  return model.providers.some(name => providers.get(name)?.isOff === false)
}
