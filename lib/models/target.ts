import type { OutgoingBody } from '../bodies/outgoing-body.ts'
import type { Credential, ModelConfig, ProviderConfig } from '../config/config.ts'
import type { DialectName, RequestFacts } from '../dialects/dialect.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import type { ProviderObject } from '../ledger/ledger.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import type { Price } from '../money/price.ts'
import type { NamedPrice } from './requested-model.ts'

/** The provider and model an exchange goes to. */
export interface Target {
  readonly provider: ProviderConfig
  readonly credential: Credential
  readonly baseUrl: URL
  readonly dialectName: DialectName
  /** The config entry that set the price; undefined for operations without a model. */
  readonly model: ModelConfig | undefined
  /** The model by its canonical name in the config or as the client wrote it; empty without a model. */
  readonly modelName: string
  /** The name the provider is asked for. */
  readonly upstreamModelName: string
  /** In force when the exchange began; undefined for free operations. */
  readonly price: Price | undefined
  /** Below the base URL, with an alias already replaced. */
  readonly upstreamPath: string
  /** What to send, splices done; undefined for requests without a body. */
  readonly body: OutgoingBody | undefined
  /** The body goes out decoded, since a splice had to be made inside a compressed one. */
  readonly isBodyDecoded: boolean
  /** Usage was asked for on the client's behalf, so the answer must be restored. */
  readonly isUsageInjected: boolean
  /** The request names objects of this credential, so no other can answer it. */
  readonly isPinned?: boolean
  /** What is known of the object that the path names. */
  readonly object?: ProviderObject | undefined
  /** Of a batch: what it costs, the prices of its models by their names at the provider, and the tools of its requests. */
  readonly batch?: {
    readonly cost: ExchangeCost
    readonly prices: ReadonlyMap<string, Price>
    readonly tools?: readonly ProviderTool[]
    /** What each of its requests makes, where their results do not tell. */
    readonly made?: Pick<RequestFacts, 'units' | 'unitsVariant' | 'imagesGiven'>
  }
  /** What models cost that the request names beside its own, such as an advisor or one that draws. */
  readonly named?: readonly NamedPrice[]
  /** Kinds of the providers that are tried after this one, other than its own: each bounds a request in its own way. */
  readonly otherKinds?: readonly string[] | undefined
  /** The same request at the model's next provider, for when this one cannot take it. */
  readonly next?: (() => Target | undefined) | undefined
}

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** Set by the gate that chose it, and again for each attempt at another provider. */
    target: Target
  }
}
