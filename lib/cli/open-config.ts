import { existsSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import { findConfig } from '../config/find-config.ts'
import { loadConfig } from '../config/load-config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'

/** @throws CommandError that lists what is wrong with the configuration */
export function openConfig(options: SharedOptions): LoadedConfig {
  const file = findConfig(options.config)
  if (!existsSync(file)) {
    throw new CommandError(
      `there is no configuration at ${file}: name one with --config FILE or GATEWAY_CONFIG`,
    )
  }
  try {
    return loadConfig(file)
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(`the configuration is wrong:\n${error.message}`)
    throw error
  }
}
