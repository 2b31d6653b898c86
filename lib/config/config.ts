import type { Seller } from '../companies/seller.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { Price } from '../money/price.ts'
import type { ListPricing, OwnPricing } from '../money/pricing.ts'
import type { RateFeed } from './pricing-schema.ts'
import type { ConfigKey, Settings } from './schema.ts'

/** As a value is once it is read: nothing of it changes. */
type Frozen<T> = T extends URL
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, Frozen<V>>
    : T extends object
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T

/** A section as its schema reads it. */
type Section<K extends ConfigKey> = Frozen<NonNullable<Settings[K]>>

/** An address and port to listen on; port 0 is any that is free. */
export type Listen = Section<'listen'>
/** Bounds on what clients may send and on what is open; sizes in bytes, times in milliseconds. */
export type Limits = Section<'limits'>
/** The web pages for customers. */
export type AccountAreaConfig = Section<'accountArea'>
/** The pages of operators. */
export type OperatorAreaConfig = Section<'operatorArea'>
/** How customers pay. Amounts in micro-roubles, times in milliseconds since the epoch. */
export type PaymentsConfig = Section<'payments'>
/** Where messages about alarms are posted, and by which secret they are signed. */
export type AlarmWebhook = Section<'alarms'>['webhooks'][string]

/** How long a provider may take: to be connected, to begin its answer, and to say nothing in the middle of it. */
export interface ProviderTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly silenceMs: number
}

/** A key of a provider, and how much of its requests it takes. */
export interface Credential {
  /** `anthropic#1`, or `anthropic#NAME`: names it in logs and the database; the value never appears there. */
  readonly name: string
  readonly value: string
  /** Its share of the requests beside the provider's others; 1 unless said. */
  readonly weight?: number
  /** Its own, all of them, where it has any. */
  readonly timeouts?: ProviderTimeouts
}

/** One way out for a provider: `direct`, or a proxy of the top-level `egress`. */
export interface EgressChoice {
  readonly name: string
  /** Its share of the requests beside the provider's others. */
  readonly weight: number
}

/** When a request that a provider refused may be sent again elsewhere. */
interface Failover {
  /** Statuses with which a provider says that it has done nothing. */
  readonly on: readonly number[]
  /** How often one request is tried at most, over all credentials, proxies and providers. */
  readonly attemptsMax: number
}

/** How much is sent to a provider at once, for each credential. */
export interface ProviderLimits {
  readonly connectionsMax: number
  /** Requests that may wait for a connection; more are refused at once. */
  readonly waitingMax: number
  readonly waitMs: number
}

/** A provider as requests meet it: where it is, with what keys, and how it behaves. */
export interface ProviderConfig {
  readonly name: string
  /** Whose peculiarities it has: another provider's name, or its own. */
  readonly kind: string
  readonly credentials: readonly Credential[]
  /** Off when every credential's variable is missing; said once at start. */
  readonly isOff: boolean
  readonly dialects: Readonly<{ [D in DialectName]?: { readonly baseUrl: URL } }>
  readonly egress: readonly EgressChoice[]
  readonly streamUsage: 'inject' | 'as-sent'
  /** `/responses` can be upgraded to a WebSocket. */
  readonly takesResponsesSocket: boolean
  readonly onClientLeft: 'abort' | 'drain'
  /** Paths below its base URLs that no dialect knows and that are forwarded all the same. */
  readonly operations: readonly string[]
  /** Prompts that it keeps, by their ids, and whose responses may use them. */
  readonly prompts: ReadonlyMap<string, StoredPrompt>
  readonly timeouts: ProviderTimeouts
  readonly failover: Failover
  readonly limits: ProviderLimits
  /** Customers are told its name. */
  readonly isPublic: boolean
  /** What its models' list prices are multiplied by, where it differs from the section `prices`. */
  readonly pricing: OwnPricing
}

/** A prompt that was written at a provider. */
interface StoredPrompt {
  /** Ids of accounts; `*` stands for every one. */
  readonly accounts: readonly string[]
  /** It may bring tools that the provider runs; true unless said. */
  readonly tools?: boolean | undefined
}

/** A model or a pattern of names, who has it, and what it costs. */
export interface ModelConfig {
  /** A name, a pattern with `*`, or `<provider>/<model>` for the provider path. */
  readonly name: string
  /** Providers in order of preference. */
  readonly providers: readonly string[]
  /** The name the provider knows it by, where that differs. */
  readonly upstreamModel?: string
  /** Of a pattern: names that it is known to cover, which are listed. */
  readonly names?: readonly string[]
  /** The context window: the most tokens that one request reads and writes together. */
  readonly contextTokensMax?: number
  /** The most tokens that one response has. */
  readonly outputTokensMax?: number
  readonly modalities?: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly capabilities?: readonly string[]
  /** Versions, oldest first; empty: unpriced, so refused. */
  readonly prices: readonly Price[]
  /** What a price in dollars is made of. */
  readonly list?: ListPricing
}

/** An enabled plugin with its options, which have passed its schema. */
export interface PluginConfig {
  /** As it is written: a shipped plugin's name, a path or a package. */
  readonly name: string
  /** Of a plugin from outside: the address of its file, which changes with its content. */
  readonly module?: string
  readonly options: Readonly<Record<string, unknown>>
}

/** Who is told of alarms. */
export interface AlarmsConfig {
  readonly email?: {
    readonly to: readonly string[]
    readonly mail: { readonly url: URL; readonly from: string }
  }
  /** By name. */
  readonly webhooks: Readonly<Record<string, AlarmWebhook>>
  /** Codes of which nobody is told. */
  readonly except: readonly string[]
}

/** Sections that are put together with others, or with what they name. */
type BuiltSection =
  | 'publicUrl'
  | 'accountArea'
  | 'alarms'
  | 'store'
  | 'include'
  | 'plugins'
  | 'providers'
  | 'models'
  | 'prices'
  | 'payments'
  | 'seller'
  | 'tls'

/** The whole configuration: validated once, then frozen. */
export interface Config extends Frozen<Omit<Settings, BuiltSection>> {
  /** Absolute path of the main file; relative paths in it were resolved against its folder. */
  readonly file: string
  readonly publicUrl: URL
  readonly accountArea?: AccountAreaConfig
  /** Absent: nobody is told. */
  readonly alarms?: AlarmsConfig
  readonly store:
    { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: string }
  /** Enabled plugins in pipeline order. */
  readonly plugins: readonly PluginConfig[]
  readonly providers: ReadonlyMap<string, ProviderConfig>
  /** By name. Aliases and patterns are apart. */
  readonly models: ReadonlyMap<string, ModelConfig>
  /** To the name of a model, or a name that a pattern covers; never to another alias. */
  readonly aliases: ReadonlyMap<string, string>
  /** The most specific first: the first that covers a name is the one. */
  readonly modelPatterns: readonly ModelConfig[]
  /** Names and patterns that were taken off sale, whatever a wider pattern covers. */
  readonly offSale: readonly string[]
  /** Absent: only the operator books money in. */
  readonly payments?: PaymentsConfig
  /** Who sells to companies; absent: invoices and closing documents are off. */
  readonly seller?: Seller
  /** Where rates are from that prices follow; absent: every price is known from the config. */
  readonly rates?: RateFeed
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

/** What models are called. */
export type ModelNames = Pick<Config, 'models' | 'aliases' | 'modelPatterns' | 'offSale'>

/** What stands for the key of a server that needs none: `credentials: []`. It is sent as no header at all. */
export function keylessCredential(provider: Pick<ProviderConfig, 'name'>): Credential {
  return { name: `${provider.name}#0`, value: '' }
}

type Shown = Pick<ProviderConfig, 'name' | 'isPublic'>

/** The name of a provider as customers see it; undefined where the provider is not public. */
export function shownProvider(config: Pick<Config, 'providers'>, name: string): string | undefined {
  return config.providers.get(name)?.isPublic === true ? name : undefined
}

/** What a sentence for customers calls a provider: `openai`, or `the provider`. */
export function toldProvider({ name, isPublic }: Shown): string {
  return isPublic ? name : 'the provider'
}

/** The same at the beginning of a sentence. */
export function toldProviderFirst({ name, isPublic }: Shown): string {
  return isPublic ? name : 'The provider'
}

/** Whether a pattern covers a name; `*` stands for any letters, none included. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let position = first.length
  for (const part of rest) {
    const found = name.indexOf(part, position)
    if (found === -1) return false
    position = found + part.length
  }
  return position <= name.length - last.length
}
