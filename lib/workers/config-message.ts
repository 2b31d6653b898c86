import type { Config } from '../config/config.ts'

/** A config on its way to another process: its addresses as text, since their class does not travel. */
export interface ConfigMessage {
  readonly config: unknown
}

/** What is sent to a worker, so that all act by the very same config, whatever became of its files. */
export function configMessage(config: Config): ConfigMessage {
  return { config: changed(config, value => (value instanceof URL ? { $address: value.href } : undefined)) }
}

/** The config again. */
export function configOf({ config }: ConfigMessage): Config {
  return changed(config, value =>
    '$address' in value && typeof value.$address === 'string' ? new URL(value.$address) : undefined,
  ) as Config
}

/** A copy of maps, lists and plain objects in which some objects are replaced. */
function changed(value: unknown, replace: (value: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const replaced = replace(value)
  if (replaced !== undefined) return replaced
  if (Array.isArray(value)) return value.map(one => changed(one, replace))
  if (value instanceof Map)
    return new Map([...value].map(([name, one]) => [name, changed(one, replace)] as const))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one, replace)]))
}
