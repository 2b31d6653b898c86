import { GatewayError } from '../pipeline/errors.ts'
import type { Config } from '../config/config.ts'
import type { Route } from '../routes/route.ts'
import type { LocalResponse } from '../pipeline/exchange.ts'
import { isAllowed } from './requested-model.ts'
import type { ModelDirectory } from './model-directory.ts'

/**
 * The models that a key can use in a dialect, in that dialect's shape: priced models of configured providers, with the
 * known names that patterns cover. With a model in the path, only that one.
 * @throws GatewayError model_not_found
 */
export function listModels(
  config: Config,
  directory: ModelDirectory,
  route: Route,
  allowed: readonly string[] | undefined,
): LocalResponse {
  const only = route.match.pathModel
  // A name that only a pattern covers is not listed, but exists.
  const known = [...directory.servedNames(), ...(only === undefined ? [] : [only])]
  const names = known.filter(
    name => isUsable(directory, name, allowed) && isServed(config, directory, name, route),
  )
  const listed = only === undefined ? withoutSandbox(config, directory, names) : names
  const shown = [...new Set(listed.map(name => shownName(name, route.providerName)))]
  if (only !== undefined && !shown.includes(only))
    throw new GatewayError('model_not_found', `There is no model "${only}" here.`, { param: 'model' })
  const body = Buffer.from(JSON.stringify(route.dialect.modelList(shown, only)))
  return { status: 200, headers: ['content-type', 'application/json'], body }
}

/** Models of the sandbox are not listed beside real ones. */
function withoutSandbox(
  config: Config,
  directory: ModelDirectory,
  names: readonly string[],
): readonly string[] {
  const real = names.filter(name =>
    directory
      .resolve(name, undefined)
      ?.entry.providers.some(provider => config.providers.get(provider)?.kind !== 'sandbox'),
  )
  return real.length > 0 ? real : names
}

/** A key may use an alias if it may use the alias' target. */
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

/** Under a provider's path its models have their own names. */
function shownName(name: string, providerName: string | undefined): string {
  return providerName !== undefined && name.startsWith(`${providerName}/`)
    ? name.slice(providerName.length + 1)
    : name
}
