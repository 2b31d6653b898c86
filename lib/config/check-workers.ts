import type { Config } from './config.ts'
import type { Path } from './config-error.ts'

/** Where several workers cannot keep to what the config says, with the reason to give. */
export function checkWorkers({
  workers,
  providers,
}: Config): readonly { readonly path: Path; readonly message: string }[] {
  return [...providers.values()]
    .filter(provider => !provider.isOff && provider.limits.connectionsMax < workers)
    .map(({ name }) => ({
      path: ['providers', name, 'limits', 'connectionsMax'],
      message: `must be at least ${workers}, as many as workers: they share the connections`,
    }))
}
