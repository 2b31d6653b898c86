import type { Environment } from './environment.ts'

/** How a reader of a message runs the command: in a checkout only npm finds it. */
export function commandName(env: Environment = process.env): string {
  return env['npm_command'] === undefined ? 'gateway' : 'npx gateway'
}
