import type { Config } from '../config/config.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import { withCredential, type ChosenProvider } from './choose-provider.ts'

/**
 * Where the objects a request refers to live. Only the account that made an object may name it, and the
 * request goes to the provider and credential that made it.
 * @returns undefined when the request refers to none, or isolation is off and none is known
 * @throws GatewayError object_not_found for another's object and for an unknown one alike
 */
export async function providerOfObjects(
  context: { readonly config: Config; readonly ledger: Ledger },
  accountId: string | undefined,
  dialectName: DialectName,
  referred: readonly NamedObject[],
  providerName: string | undefined,
): Promise<ChosenProvider | undefined> {
  let chosen: ChosenProvider | undefined
  const isStrict = context.config.isolation === 'strict'
  for (const object of referred) {
    const found = await findObject(context, dialectName, object, providerName)
    if (found === undefined || found.accountId !== accountId) {
      if (isStrict) throw notFound(object)
      continue
    }
    chosen = withCredential(context.config.providers.get(found.provider), dialectName, found.credential)
    if (chosen === undefined) {
      throw new GatewayError(
        'credentials_exhausted',
        `The credential that made ${object.id} is no longer configured.`,
      )
    }
  }
  return chosen
}

function notFound(object: NamedObject): GatewayError {
  return new GatewayError('object_not_found', `No ${object.kind} with the id "${object.id}" was found.`)
}

async function findObject(
  { config, ledger }: { readonly config: Config; readonly ledger: Ledger },
  dialectName: DialectName,
  object: NamedObject,
  providerName: string | undefined,
): Promise<ProviderObject | undefined> {
  for (const provider of config.providers.values()) {
    if (provider.dialects[dialectName] === undefined) continue
    if (providerName !== undefined && provider.name !== providerName) continue
    const found = await ledger.findObject(provider.name, object.kind, object.id)
    if (found !== undefined) return found
  }
  return undefined
}
