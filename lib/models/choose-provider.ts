import {
  keylessCredential,
  namedCredential,
  type Config,
  type Credential,
  type ProviderConfig,
  type ModelConfig,
} from '../config/config.ts'
import type { DialectName, RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { ResolvedModel, ModelDirectory } from './model-directory.ts'
import type { Ledger, ProviderObject } from '../ledger/ledger.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Route } from '../routes/route.ts'
import type { OutgoingBody } from '../bodies/outgoing-body.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import type { Meters } from '../money/usage.ts'
import type { NamedPrice } from './requested-model.ts'

/** The provider and model an exchange goes to. */
export interface Target {
  readonly provider: ProviderConfig
  readonly credential: Credential
  readonly baseUrl: URL
  readonly dialectName: DialectName
  /** The config entry that set the price; undefined for operations without a model. */
  readonly model: ModelConfig | undefined
  /** The model by its canonical name in the config, or as the client wrote it; empty without a model. */
  readonly modelName: string
  /** The model's name at the provider. */
  readonly upstreamModelName: string
  /** The price in force when the exchange began; undefined for free operations. */
  readonly price: Price | undefined
  /** The path below the base URL, with an alias already replaced. */
  readonly upstreamPath: string
  /** The body to send, after splices; undefined for requests without a body. */
  readonly body: OutgoingBody | undefined
  /** The body is sent decoded, since a splice was necessary inside a compressed one. */
  readonly isBodyDecoded: boolean
  /** The gateway asked for usage on the client's behalf, so the response must be restored. */
  readonly isUsageInjected: boolean
  /** The request names objects of this credential, so no other can serve it. */
  readonly isPinned?: boolean
  /** The stored facts of the object that the path names. */
  readonly object?: ProviderObject | undefined
  /** For a batch: its cost, the prices of its models by their names at the provider, and the tools of its requests. */
  readonly batch?: {
    readonly cost: ExchangeCost
    readonly prices: ReadonlyMap<string, Price>
    /** The input and possible output of one of its requests, for the facts of its job. */
    readonly each?: Readonly<Record<string, Meters>>
    readonly tools?: readonly ProviderTool[]
    /** The units that each of its requests makes, if their results do not report them. */
    readonly made?: Pick<RequestFacts, 'units' | 'unitsVariant' | 'imagesGiven'>
  }
  /** The prices of models that the request names beside its own, such as an advisor or one that makes images. */
  readonly named?: readonly NamedPrice[]
  /** Kinds of the providers to try after this one, other than its own: each limits a request in its own way. */
  readonly otherKinds?: readonly string[] | undefined
  /** The same request at the model's next provider, for use if this one cannot serve it. */
  readonly next?: (() => Target | undefined) | undefined
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** Set by the gate that chose it, and again for each attempt at another provider. */
    target: Target
  }
}

/** The endpoint to recommend for a model that does not speak the requested dialect. */
const endpoints: Readonly<Record<DialectName, string>> = {
  openai: '/v1/chat/completions',
  anthropic: '/v1/messages',
  google: '/v1beta/models/{model}:generateContent',
}

/** A provider that speaks the dialect, with its address and a credential. */
export interface ChosenProvider {
  readonly provider: ProviderConfig
  readonly credential: Credential
  readonly baseUrl: URL
}

/**
 * The providers for a model: those in the model's order that are configured and speak the dialect.
 * @returns at least one
 * @throws GatewayError request_invalid naming the endpoint that has it, model_not_found
 */
export function chooseProviders(
  config: Config,
  model: ResolvedModel,
  dialectName: DialectName,
  providerName: string | undefined,
): readonly ChosenProvider[] {
  const names = providerName === undefined ? model.entry.providers : [providerName]
  const chosen: ChosenProvider[] = []
  for (const name of names) {
    const provider = withCredential(config.providers.get(name), dialectName)
    if (provider !== undefined) chosen.push(provider)
  }
  if (chosen.length === 0) throw notOffered(config, model, dialectName, names)
  return chosen
}

/** The error when no provider of a model serves a dialect. */
function notOffered(
  config: Config,
  { canonicalName }: ResolvedModel,
  dialectName: DialectName,
  names: readonly string[],
): GatewayError {
  const providers = names.map(name => config.providers.get(name)).filter(provider => provider !== undefined)
  const speaking = providers.filter(provider => provider.dialects[dialectName] !== undefined)
  const [first] = speaking
  if (first === undefined) {
    const other = (Object.keys(endpoints) as DialectName[]).find(name =>
      providers.some(provider => provider.dialects[name] !== undefined),
    )
    const hint = other === undefined ? 'It is not available.' : `Use ${endpoints[other]} for it.`
    return new GatewayError('request_invalid', `The model "${canonicalName}" is not offered here. ${hint}`, {
      param: 'model',
    })
  }
  const name = first.isPublic ? `, ${first.name},` : ''
  return new GatewayError(
    'model_not_found',
    `The model "${canonicalName}" is not available: its provider${name} has no credential here. The operator sets one; "gateway check" names its variable.`,
    { param: 'model' },
  )
}

/** A provider with a base URL in the dialect and a credential, or undefined. */
export function withCredential(
  provider: ProviderConfig | undefined,
  dialectName: DialectName,
  credentialName?: string,
): ChosenProvider | undefined {
  const baseUrl = provider?.dialects[dialectName]?.baseUrl
  if (provider === undefined || baseUrl === undefined || provider.isOff) return undefined
  const credentials = provider.credentials.length > 0 ? provider.credentials : [keylessCredential(provider)]
  const credential =
    credentialName === undefined ? credentials[0] : namedCredential(credentials, credentialName)
  return credential === undefined ? undefined : { provider, credential, baseUrl }
}

/** Kinds of the providers to try after one, other than its own. */
export function kindsAfter(
  providers: readonly ChosenProvider[],
  index: number,
): readonly string[] | undefined {
  const kinds = new Set(providers.slice(index + 1).map(({ provider }) => provider.kind))
  kinds.delete(providers[index]?.provider.kind ?? '')
  return kinds.size === 0 ? undefined : [...kinds]
}

/** The context for planning a batch. */
export interface BatchContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly directory: ModelDirectory
}

/** The route and the maximum cost of a batch. */
export interface BatchPlan {
  readonly providers: readonly ChosenProvider[]
  readonly isPinned: boolean
  readonly model: Pick<Target, 'model' | 'modelName' | 'upstreamModelName' | 'price' | 'batch'>
}

/** Plans a batch, which has no model itself; its requests have. */
export type PlanBatch = (
  context: BatchContext,
  exchange: Exchange,
  route: Route,
  facts: RequestFacts,
) => Promise<BatchPlan>
