import type { ProviderConfig } from '../config/config.ts'
import { isControlPlane } from '../config/control-plane.ts'

/**
 * Why a path that no dialect knows is not forwarded to a provider; undefined where the provider's `operations` list it.
 * The path is compared as it is sent: another spelling of it is another path.
 */
export function refusalOfUnknown(provider: ProviderConfig, pathAndQuery: string): string | undefined {
  const [path = ''] = pathAndQuery.split('?', 1)
  if (provider.operations.some(entry => covers(entry, path))) return undefined
  const shown = JSON.stringify(path.slice(0, 128))
  if (isControlPlane(path)) {
    return `${shown} belongs to the operator's account at ${provider.name}, so it is not forwarded.`
  }
  return `${shown} is no operation that the gateway knows, so it is not paid with the operator's credential. The operator may list it in providers.${provider.name}.operations.`
}

function covers(entry: string, path: string): boolean {
  if (!entry.endsWith('*')) return entry === path
  // What a pattern covers nobody has looked at: neither escapes nor what belongs to the operator's account.
  return path.startsWith(entry.slice(0, -1)) && !/[%;]/.test(path) && !isControlPlane(path)
}
