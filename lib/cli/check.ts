import type { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { findConfig } from '../config/find-config.ts'
import { loadConfig } from '../config/load-config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { addCommand } from './add-command.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import type { CliContext } from './context.ts'

export function addCheckCommand(program: Command, { stdout }: CliContext): void {
  addCommand(program, 'check', 'say whether the configuration is in order, and what is not').action(
    (options: SharedOptions) => {
      const file = findConfig(options.config)
      try {
        const loaded = loadConfig(file)
        stdout.write(options.json === true ? summaryJson(loaded) : summary(loaded))
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        const { problems } = error
        stdout.write(
          options.json === true ? `${JSON.stringify({ ok: false, problems })}\n` : `${error.message}\n`,
        )
        throw new CommandError(
          `${problems.length === 1 ? '1 problem' : `${problems.length} problems`} in ${file}`,
        )
      }
    },
  )
}

function summary({ config, notices }: LoadedConfig): string {
  const off = [...config.providers.values()].filter(provider => provider.isOff).length
  const modelCount = config.models.size + config.modelPatterns.length
  const lines = [
    `${config.file} is in order`,
    `  providers  ${config.providers.size - off} on, ${off} off`,
    `  models     ${modelCount} and ${config.aliases.size} aliases`,
    `  plugins    ${config.plugins.map(plugin => plugin.name).join(' > ')}`,
    `  store      ${config.store.kind === 'sqlite' ? config.store.file : 'PostgreSQL'}`,
    ...notices.map(notice => `  note       ${notice}`),
  ]
  return `${lines.join('\n')}\n`
}

function summaryJson({ config, notices }: LoadedConfig): string {
  return `${JSON.stringify({ ok: true, file: config.file, notices })}\n`
}
