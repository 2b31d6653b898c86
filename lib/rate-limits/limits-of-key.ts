import type { Config } from '../config/config.ts'
import { rateLimitOptions } from '../config/rate-limit-options.ts'
import type { Limits } from './rate-limits.ts'

/** What the config lets a key do; undefined when the plugin rate-limit is not enabled. */
export function limitsOfKey({ plugins }: Pick<Config, 'plugins'>, keyId: string): Limits | undefined {
  const plugin = plugins.find(({ name }) => name === 'rate-limit')
  if (plugin === undefined) return undefined
  const { keys, ...limits } = rateLimitOptions.parse(plugin.options)
  return { ...limits, ...keys[keyId] }
}
