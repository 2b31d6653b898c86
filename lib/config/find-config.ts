import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Environment } from './environment.ts'

const relativeDefault = join('config', 'gateway.yaml')

/**
 * The config file to use: the one that is named, else `GATEWAY_CONFIG`, else `config/gateway.yaml` here,
 * else the one that came with the gateway.
 */
export function findConfig(named: string | undefined, env: Environment = process.env): string {
  const chosen = named ?? env['GATEWAY_CONFIG']
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  const here = resolve(relativeDefault)
  return existsSync(here) ? here : shippedConfig()
}

/** The config file that came with the gateway. */
export function shippedConfig(): string {
  return join(packageRoot(), relativeDefault)
}

/** Two folders up in the source; one more where it was compiled into `dist`. */
function packageRoot(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  return existsSync(join(root, relativeDefault)) ? root : join(root, '..')
}
