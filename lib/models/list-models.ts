import type { Config } from '../config/config.ts'
import type { Route } from '../exchange-facts.ts'
import type { LocalAnswer } from '../pipeline/exchange.ts'
import { isAllowed } from './is-allowed.ts'
import type { ModelDirectory } from './model-directory.ts'

/**
 * The models a key can use in a dialect, in that dialect's shape: priced ones of configured providers,
 * without patterns. With a model in the path, that one.
 * @throws GatewayError model_not_found
 */
export function listModels(
  config: Config,
  directory: ModelDirectory,
  route: Route,
  allowed: readonly string[] | undefined,
): LocalAnswer {
  const names = [...config.models.keys(), ...config.aliases.keys()].filter(
    name => isUsable(directory, name, allowed) && isServed(config, directory, name, route),
  )
  const only = route.match.pathModel
  const shown = names.map(name => shownName(name, route.providerName))
  const body = Buffer.from(JSON.stringify(route.dialect.modelList(shown, only)))
  return { status: 200, headers: ['content-type', 'application/json'], body }
}

/** An alias may be used by a key that may use what it stands for. */
function isUsable(directory: ModelDirectory, name: string, allowed: readonly string[] | undefined): boolean {
  return (
    isAllowed(allowed, name) || isAllowed(allowed, directory.resolve(name, undefined)?.canonicalName ?? name)
  )
}

function isServed(config: Config, directory: ModelDirectory, name: string, route: Route): boolean {
  const entry = directory.resolve(name, undefined)?.entry
  if (entry === undefined || entry.prices.length === 0) return false
  return entry.providers.some(providerName => {
    if (route.providerName !== undefined && route.providerName !== providerName) return false
    const provider = config.providers.get(providerName)
    return provider !== undefined && !provider.isOff && provider.dialects[route.dialect.name] !== undefined
  })
}

/** Under a provider's path its models go by their own names. */
function shownName(name: string, providerName: string | undefined): string {
  return providerName !== undefined && name.startsWith(`${providerName}/`)
    ? name.slice(providerName.length + 1)
    : name
}
