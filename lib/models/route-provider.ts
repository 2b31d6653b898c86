import { providerLabel, type Config } from '../config/config.ts'
import type { Operation, RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from '../routes/route.ts'
import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { chooseProviders, withCredential, type ChosenProvider } from './choose-provider.ts'
import type { ResolvedModel } from './model-directory.ts'
import { filesRead, ownerOfObjects } from './object-owner.ts'

/** The possible providers of a request. */
export interface ProviderRoute {
  /** In order of preference; at least one. */
  readonly providers: readonly ChosenProvider[]
  /** The credential is fixed too, by the objects that the request names. */
  readonly isPinned: boolean
  /** The stored facts of the object that the path names. */
  readonly object?: ProviderObject
  /** The stored facts of the objects that the body names. */
  readonly inBody?: readonly ProviderObject[]
}

/**
 * The provider and credential of an exchange: those of the objects that it names, else those of its model, else the
 * dialect's default.
 * @throws GatewayError object_not_found, previous_response_not_found, model_not_found, request_invalid, route_not_found
 */
export function routeProvider(
  context: { readonly config: Config; readonly ledger: Ledger },
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
  model: ResolvedModel | undefined,
): ProviderRoute | Promise<ProviderRoute> {
  const { object, operation } = route.match
  const inTexts =
    facts.filesInText && filesRead(ofModel(context.config, route, model).providers, facts.filesInText)
  const referred = [...(object === undefined ? [] : [object]), ...facts.objects, ...(inTexts ?? [])]
  if (referred.length === 0) return requireFree(operation, ofModel(context.config, route, model))
  const accountId = exchange.find('key')?.accountId
  return ofObjects(context, accountId, route, referred).then(place => {
    if (place === undefined) return requireFree(operation, ofModel(context.config, route, model))
    if (operation.modelIn === 'body' && model !== undefined) requireServed(model, place)
    return requireFree(operation, place)
  })
}

/**
 * Only the providers at which the path is free: work at another provider would go uncharged.
 * @throws GatewayError not_supported
 */
function requireFree({ name, freeAt }: Operation, place: ProviderRoute): ProviderRoute {
  if (freeAt === undefined) return place
  const providers = place.providers.filter(({ provider }) => freeAt.has(provider.kind))
  if (providers.length > 0) return { ...place, providers }
  const [first] = place.providers
  const where = first === undefined ? 'the provider' : providerLabel(first.provider)
  throw new GatewayError(
    'not_supported',
    `The operation ${name} of ${where} may be paid for, and has no price here, so it is not forwarded.`,
  )
}

/**
 * The price is the model's: at the provider of the objects another model might respond under its name, or without one.
 * @throws GatewayError request_invalid
 */
function requireServed({ entry, canonicalName }: ResolvedModel, { providers }: ProviderRoute): void {
  const elsewhere = providers.find(({ provider }) => !entry.providers.includes(provider.name))
  if (elsewhere === undefined) return
  throw new GatewayError(
    'request_invalid',
    `The request names objects that are kept at ${elsewhere.provider.isPublic ? elsewhere.provider.name : 'a provider'}, which does not serve the model "${canonicalName}" here.`,
    { param: 'model' },
  )
}

/** The route of the objects; undefined if they are unknown and need no owner. */
async function ofObjects(
  context: { readonly config: Config; readonly ledger: Ledger },
  accountId: string | undefined,
  { match, dialect, providerName }: Route,
  referred: readonly NamedObject[],
): Promise<ProviderRoute | undefined> {
  // Only responses have a hold that covers a stored prompt.
  const prompts =
    match.operation.name === 'responses'
      ? grantedPrompts(context.config, accountId, referred, providerName)
      : []
  const { chosen, objects } = await ownerOfObjects(context, accountId, dialect.name, referred, providerName, {
    given: prompts,
    ...(match.object !== undefined && { inPath: match.object }),
  })
  if (chosen === undefined) return undefined
  const object = objects.find(({ kind, id }) => kind === match.object?.kind && id === match.object.id)
  const inBody = objects.filter(one => one !== object)
  return { providers: [chosen], isPinned: true, ...(object !== undefined && { object }), inBody }
}

function ofModel(config: Config, route: Route, model: ResolvedModel | undefined): ProviderRoute {
  const providers =
    model === undefined
      ? [defaultProvider(config, route)]
      : chooseProviders(config, model, route.dialect.name, route.providerName)
  return { providers, isPinned: false }
}

/** Requests without a model go to the provider in their path, or to the dialect's default. */
export function defaultProvider(config: Config, route: Route): ChosenProvider {
  const name = route.providerName ?? config.defaultProvider[route.dialect.name]
  const provider = name === undefined ? undefined : config.providers.get(name)
  const chosen = withCredential(provider, route.dialect.name)
  if (chosen !== undefined) return chosen
  throw new GatewayError('route_not_found', `This request names no model, and ${whyNowhere(name, route)}`)
}

function whyNowhere(name: string | undefined, { dialect, providerName }: Route): string {
  if (providerName !== undefined) return `the provider ${providerName} is not configured.`
  const setting = `defaultProvider.${dialect.name}`
  return name === undefined
    ? `no provider is set for such requests: the operator sets ${setting}, or ask at /<provider>/v1.`
    : `the provider of ${setting} has no credential: the operator sets one, or ask at /<provider>/v1.`
}

/**
 * The prompts in a request that the operator grants to its account: prompts cannot be created through the gateway. They
 * are OpenAI's, so that only its format has them.
 */
function grantedPrompts(
  { providers }: Config,
  accountId: string | undefined,
  referred: readonly NamedObject[],
  providerName: string | undefined,
): readonly ProviderObject[] {
  const granted: ProviderObject[] = []
  for (const { kind, id } of referred) {
    if (kind !== 'prompt') continue
    for (const provider of providers.values()) {
      const accounts = provider.prompts.get(id)?.accounts ?? []
      const isOwn = accounts.some(one => one === '*' || one === accountId)
      if (!isOwn || (providerName !== undefined && providerName !== provider.name)) continue
      const chosen = withCredential(provider, 'openai')
      if (chosen === undefined) continue
      const credential = chosen.credential.name
      granted.push({
        kind,
        id,
        provider: provider.name,
        accountId: accountId ?? '',
        credential,
        exchangeId: '',
      })
      break
    }
  }
  return granted
}

/** The content of a stored prompt is not in the request: it may include tools that its provider runs. */
export function withPromptTools({ providers }: Config, facts: RequestFacts): RequestFacts {
  const isPlain = ({ id }: NamedObject): boolean =>
    [...providers.values()].some(({ prompts }) => prompts.get(id)?.tools === false)
  const mayRunTools = facts.objects.some(object => object.kind === 'prompt' && !isPlain(object))
  if (!mayRunTools) return facts
  return { ...facts, tools: [...(facts.tools ?? []), { type: 'prompt' }], mayRent: true }
}
