import type { Seller } from '../companies/seller.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { Price } from '../money/price.ts'
import type { ListPricing, OwnPricing } from '../money/pricing.ts'
import type { Written } from './written.ts'
import type { RateFeed } from './pricing-schema.ts'
import type { ConfigKey, Settings } from './schema.ts'

/** Makes a parsed value read-only, deeply. */
type Frozen<T> = T extends URL
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, Frozen<V>>
    : T extends object
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T

/** A section as its schema parses it. */
type Section<K extends ConfigKey> = Frozen<NonNullable<Settings[K]>>

/** An address and port to listen on; port 0 takes any free port. */
export type Listen = Section<'listen'>
/** Limits on what clients may send and on open connections; sizes in bytes, times in milliseconds. */
export type Limits = Section<'limits'>
/** The web pages for customers. */
export type AccountAreaConfig = Section<'accountArea'>
/** The pages of operators. */
export type OperatorAreaConfig = Section<'operatorArea'>
/** How customers pay. Amounts in micro-roubles, times in milliseconds since the epoch. */
export type PaymentsConfig = Section<'payments'>
/** Where alarm messages are posted, and the secret that signs them. */
export type AlarmWebhook = Section<'alarms'>['webhooks'][string]

/** How long a provider may take to connect, to begin its response, and to stay silent within it. */
export interface ProviderTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly silenceMs: number
}

/** A provider's key, with its share of the requests. */
export interface Credential {
  /**
   * Its name in logs and the database, where the value never appears: `anthropic#NAME` by its own name or its variable,
   * `anthropic#1` by its place in the list where it has neither.
   */
  readonly name: string
  /** By its place, where its name is that of its variable: earlier releases recorded objects, jobs and pauses so. */
  readonly formerName?: string
  readonly value: string
  /** Its share of the requests among the provider's credentials; 1 by default. */
  readonly weight?: number
  /** Its own timeouts, complete, if it has any. */
  readonly timeouts?: ProviderTimeouts
}

/** One egress route of a provider: `direct`, or a proxy of the top-level `egress`. */
export interface EgressChoice {
  readonly name: string
  /** Its share of the requests among the provider's routes. */
  readonly weight: number
}

/** When a request that a provider rejected may be retried elsewhere. */
interface Failover {
  /** Statuses that mean that the provider did no work. */
  readonly on: readonly number[]
  /** Most attempts for one request, over all credentials, proxies and providers. */
  readonly attemptsMax: number
}

/** How many requests may be in flight to a provider, for each credential. */
export interface ProviderLimits {
  readonly connectionsMax: number
  /** Requests that may wait for a connection; further ones are refused at once. */
  readonly waitingMax: number
  readonly waitMs: number
}

/** A provider as the request path sees it: its addresses, its keys and its behavior. */
export interface ProviderConfig {
  readonly name: string
  /** The provider whose quirks it shares: another provider's name, or its own. */
  readonly kind: string
  readonly credentials: readonly Credential[]
  /** Off when every credential's variable is missing; reported once at start. */
  readonly isOff: boolean
  readonly dialects: Readonly<{ [D in DialectName]?: { readonly baseUrl: URL } }>
  readonly egress: readonly EgressChoice[]
  readonly streamUsage: 'inject' | 'as-sent'
  /** `/responses` can be upgraded to a WebSocket. */
  readonly takesResponsesSocket: boolean
  readonly onClientLeft: 'abort' | 'drain'
  /** Paths below its base URLs that are forwarded although no dialect knows them. */
  readonly operations: readonly string[]
  /** Prompts stored at the provider, by id, with the accounts whose responses may use them. */
  readonly prompts: ReadonlyMap<string, StoredPrompt>
  readonly timeouts: ProviderTimeouts
  readonly failover: Failover
  readonly limits: ProviderLimits
  /** Whether customers see its name. */
  readonly isPublic: boolean
  /** The multipliers of its models' list prices, where they differ from the section `prices`. */
  readonly pricing: OwnPricing
}

/** A prompt stored at a provider. */
interface StoredPrompt {
  /** Ids of accounts; `*` means all. */
  readonly accounts: readonly string[]
  /** Whether it may bring tools that the provider runs; true by default. */
  readonly tools?: boolean | undefined
}

/** A model or a pattern of names, with its providers and prices. */
export interface ModelConfig {
  /** A name, a pattern with `*`, or `<provider>/<model>` for the provider path. */
  readonly name: string
  /** Providers in order of preference. */
  readonly providers: readonly string[]
  /** The provider's name for it, where that differs. */
  readonly upstreamModel?: string
  /** For a pattern: names that it is known to cover; these are listed. */
  readonly names?: readonly string[]
  /** The context window: the most tokens that one request reads and writes together. */
  readonly contextTokensMax?: number
  /** The most tokens that one response contains. */
  readonly outputTokensMax?: number
  readonly modalities?: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly capabilities?: readonly string[]
  /** Versions, oldest first; empty means unpriced, and therefore refused. */
  readonly prices: readonly Price[]
  /** The list price and the factors of a price in dollars. */
  readonly list?: ListPricing
}

/** An enabled plugin with its validated options. */
export interface PluginConfig {
  /** As written in the config: a shipped plugin's name, a path or a package. */
  readonly name: string
  readonly external?: ExternalModule
  readonly options: Readonly<Record<string, unknown>>
}

/** The file of an external plugin. It checks its options itself, after the config is read. */
export interface ExternalModule {
  /** Its URL, which changes with the file's content. */
  readonly address: string
  /** Where the config names the plugin, with its options. */
  readonly written: Written
}

/** Who is notified of alarms. */
export interface AlarmsConfig {
  readonly email?: {
    readonly to: readonly string[]
    readonly mail: { readonly url: URL; readonly from: string }
  }
  /** By name. */
  readonly webhooks: Readonly<Record<string, AlarmWebhook>>
  /** Codes of alarms that are not sent. */
  readonly except: readonly string[]
}

/** Sections that are built from several sections, or from what they refer to. */
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
  /** Absolute path of the main file; relative paths are resolved against the folder of the file that has them. */
  readonly file: string
  readonly publicUrl: URL
  readonly accountArea?: AccountAreaConfig
  /** Absent: no notifications. */
  readonly alarms?: AlarmsConfig
  readonly store:
    | { readonly kind: 'sqlite'; readonly file: string }
    | { readonly kind: 'postgres'; readonly url: string }
  /** Enabled plugins in pipeline order. */
  readonly plugins: readonly PluginConfig[]
  readonly providers: ReadonlyMap<string, ProviderConfig>
  /** By name, without aliases and patterns. */
  readonly models: ReadonlyMap<string, ModelConfig>
  /** Alias to the name of a model, or to a name that a pattern covers; never to another alias. */
  readonly aliases: ReadonlyMap<string, string>
  /** Most specific first: the first pattern that covers a name applies. */
  readonly modelPatterns: readonly ModelConfig[]
  /** Names and patterns that are off sale, whatever a wider pattern covers. */
  readonly offSale: readonly string[]
  /** Absent: only operators credit money. */
  readonly payments?: PaymentsConfig
  /** The company that sells; absent: invoices and closing documents are off. */
  readonly seller?: Seller
  /** The source of the exchange rates that prices follow; absent: all prices come from the config alone. */
  readonly rates?: RateFeed
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

/** The names of models. */
export type ModelNames = Pick<Config, 'models' | 'aliases' | 'modelPatterns' | 'offSale'>

/** Placeholder for the key of a server that needs none (`credentials: []`). No header is sent for it. */
export function keylessCredential(provider: Pick<ProviderConfig, 'name'>): Credential {
  return { name: `${provider.name}#0`, value: '' }
}

/** The credential with this name; else the one that had it in earlier releases. */
export function namedCredential(credentials: readonly Credential[], name: string): Credential | undefined {
  return (
    credentials.find(credential => credential.name === name) ??
    credentials.find(credential => credential.formerName === name)
  )
}

type Shown = Pick<ProviderConfig, 'name' | 'isPublic'>

/** The name of a provider as customers see it; undefined for a provider that is not public. */
export function shownProvider(config: Pick<Config, 'providers'>, name: string): string | undefined {
  return config.providers.get(name)?.isPublic === true ? name : undefined
}

/** How messages to customers name a provider: `openai`, or `the provider`. */
export function providerLabel({ name, isPublic }: Shown): string {
  return isPublic ? name : 'the provider'
}

/** The same, to begin a sentence. */
export function providerLabelFirst({ name, isPublic }: Shown): string {
  return isPublic ? name : 'The provider'
}

/** Whether a pattern covers a name; `*` matches any characters, or none. */
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
