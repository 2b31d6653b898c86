import type { Command } from 'commander'

/** Options that every command has. */
export interface SharedOptions {
  readonly config?: string
  readonly json?: boolean
}

/** A command with the options that all share. `definition` is its name with its arguments. */
export function addCommand(parent: Command, definition: string, description: string): Command {
  return parent
    .command(definition)
    .description(description)
    .option('-c, --config <file>', 'the configuration (default: config/gateway.yaml, or GATEWAY_CONFIG)')
    .option('--json', 'print JSON')
}
