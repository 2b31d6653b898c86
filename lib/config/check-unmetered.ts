import type { Config } from './config.ts'
import type { Path } from './config-error.ts'

/** `unmetered: true` switches charging off; beside the plugin that charges one of the two is a mistake. */
export function checkUnmetered({
  unmetered,
  plugins,
}: Config): readonly { readonly path: Path; readonly message: string }[] {
  if (!unmetered || plugins.every(plugin => plugin.name !== 'usage-tap')) return []
  const message =
    'is true and the plugin usage-tap is on: nothing would be charged; take one away (usage-tap: { enabled: false })'
  return [{ path: ['unmetered'], message }]
}
