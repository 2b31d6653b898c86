import type { Seller } from '../companies/seller.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { Micros } from '../money/amount.ts'
import type { Price } from '../money/price.ts'
import type { ListPricing, OwnPricing } from '../money/pricing.ts'
import type { RateFeed } from './build-rates.ts'

/** An address and port to listen on; port 0 is any that is free. */
export interface Listen {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

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
export interface StoredPrompt {
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

/** Bounds on what clients may send and on what is open; sizes in bytes, times in milliseconds. */
export interface Limits {
  readonly bodyMemoryBytes: number
  readonly bodyBytesMax: number
  readonly bodyBytesTotalMax: number
  readonly connectionsMax: number
  /** Exchanges that run at once; as many as connections unless said. */
  readonly exchangesMax?: number | undefined
  /** Memory of the process; its container's limit, or the machine's, unless said. */
  readonly memoryBytesMax?: number | undefined
  /** How late timers may be before every new request is turned away; unknown keys are at a fifth of it. */
  readonly loopDelayMsMax: number
  /** Operations that may wait for the ledger's writer before it is so; unknown keys at a third of them. */
  readonly writesWaitingMax: number
  /** Of an account, in each process: what costs nothing is bounded by nothing else. */
  readonly freeRequestsPerMinute: number
  readonly headersMs: number
  readonly bodyMs: number
  /** Of an answer without an announced length: one that never ends must not be paid for ever. */
  readonly answerMs: number
  readonly answerBytesMax: number
  /** How long a client may take nothing of its answer before it counts as gone. */
  readonly stallMs: number
  /** WebSocket sessions: how long, how long silent, and the longest message. */
  readonly session: { readonly sessionMs: number; readonly idleMs: number; readonly messageBytesMax: number }
}

/** A text that customers agree to: its version, and a file for each language. */
export interface LegalDocument {
  readonly version: string
  readonly ru: string
  readonly en: string
}

/** The web pages for customers. */
export interface AccountAreaConfig {
  readonly listen: Listen
  /** Its own address unless said. */
  readonly publicUrl?: URL
  readonly name: string
  /** Absent: letters go to the log. */
  readonly mail?: { readonly url: URL; readonly from: string }
  readonly secret?: string
  /** Where customers write. */
  readonly support?: string
  readonly documents: { readonly offer?: LegalDocument; readonly personalData?: LegalDocument }
}

/** The pages of operators. */
export interface OperatorAreaConfig {
  readonly listen: Listen
  /** Its own address unless said. */
  readonly publicUrl?: URL
  readonly name: string
  readonly secret?: string
}

/** What a fiscal receipt says beside its amount. */
export interface ReceiptSettings {
  readonly taxSystem?: number
  readonly vatCode: number
  readonly paymentMode: string
  readonly subject: string
}

/** Who is told of alarms. */
export interface AlarmsConfig {
  readonly email?: { readonly to: readonly string[]; readonly mail: { readonly url: URL; readonly from: string } }
  /** By name. */
  readonly webhooks: Readonly<Record<string, AlarmWebhook>>
  /** Codes of which nobody is told. */
  readonly except: readonly string[]
}

/** Where messages about alarms are posted, and by which secret they are signed: `whsec_` and base64. */
export interface AlarmWebhook {
  readonly url: URL
  readonly secret: string
  /** `direct`, or the name of an egress. */
  readonly egress?: string | undefined
}

/** How customers pay. Amounts in micro-roubles, times in milliseconds since the epoch. */
export interface PaymentsConfig {
  readonly provider: 'yookassa' | 'sandbox'
  readonly yookassa?: {
    readonly shopId: string
    readonly secretKey: string
    readonly baseUrl: URL
    readonly notificationAddresses: readonly string[]
  }
  readonly topUp: {
    readonly minMicros: Micros
    readonly maxMicros: Micros
    readonly presetsMicros: readonly Micros[]
    readonly methods: readonly { readonly name: 'bank_card' | 'sbp'; readonly maxMicros: Micros }[]
  }
  /** Whether customers may save a card and be topped up by it without being asked each time. */
  readonly autoTopUp: boolean
  /** By the period that begins with each, the oldest first; empty: no receipts are made. */
  readonly receipts: readonly (ReceiptSettings & { readonly from: number })[]
}

/** The whole configuration: validated once, then frozen. */
export interface Config {
  /** Absolute path of the main file; relative paths in it were resolved against its folder. */
  readonly file: string
  readonly listen: Listen
  readonly publicUrl: URL
  readonly accountArea?: AccountAreaConfig
  readonly operatorArea?: OperatorAreaConfig
  /** Absent: nobody is told. */
  readonly alarms?: AlarmsConfig
  readonly admin?: {
    readonly listen: Listen
    /** Ids of accounts by the name of their group. */
    readonly accountGroups?: Readonly<Record<string, readonly string[]>> | undefined
  }
  readonly store:
    { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: string }
  /** Where days that are named by their dates begin, for those who ask; the days of money are Moscow's. */
  readonly timeZone: string
  readonly durability: 'strict' | 'relaxed'
  readonly workers: number
  /** Enabled plugins in pipeline order. */
  readonly plugins: readonly PluginConfig[]
  readonly providers: ReadonlyMap<string, ProviderConfig>
  readonly egress: ReadonlyMap<string, { readonly url: URL }>
  /** By name. Aliases and patterns are apart. */
  readonly models: ReadonlyMap<string, ModelConfig>
  /** To the name of a model, or a name that a pattern covers; never to another alias. */
  readonly aliases: ReadonlyMap<string, string>
  /** The most specific first: the first that covers a name is the one. */
  readonly modelPatterns: readonly ModelConfig[]
  /** Names and patterns that were taken off sale, whatever a wider pattern covers. */
  readonly offSale: readonly string[]
  readonly defaultProvider: Readonly<Record<DialectName, string | undefined>>
  readonly limits: Limits
  readonly hold: {
    /** Roubles set aside per media part, by kind. */
    readonly mediaRub: Readonly<Record<string, string>>
    /** Output that is expected where nothing is known of such calls. */
    readonly likelyOutputTokens: number
  }
  /** Absent: only the operator books money in. */
  readonly payments?: PaymentsConfig
  /** What a new account is given, and to how many a day. */
  readonly startingCredit?: { readonly amountMicros: Micros; readonly accountsPerDay: number } | undefined
  /** Who sells to companies; absent: invoices and closing documents are off. */
  readonly seller?: Seller
  /** From `hold.riskRub`, `riskOfPaid` and `riskRubMax`. */
  readonly risk: RiskRule
  /** Where rates are from that prices follow; absent: every price is known from the config. */
  readonly rates?: RateFeed
  readonly isolation: 'strict' | 'off'
  /** Who is asked for the addresses of providers and proxies: `IP` or `IP:PORT`; absent: the system. */
  readonly dns: { readonly servers: readonly string[] } | undefined
  readonly trustedProxies: readonly string[]
  readonly cors: { readonly origins: readonly string[] }
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly log: { readonly level: string; readonly clientAddress: 'full' | 'truncated' | 'none' }
  readonly unmetered: boolean
}

/** What models are called. */
export type ModelNames = Pick<Config, 'models' | 'aliases' | 'modelPatterns' | 'offSale'>
