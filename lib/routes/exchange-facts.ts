import type { KeyRecord } from '../accounts/accounts.ts'
import type { OutgoingBody } from '../bodies/outgoing-body.ts'
import type { RequestBody } from '../bodies/request-body.ts'
import type { StreamedBody } from '../bodies/streamed-body.ts'
import type { ModelConfig, ProviderConfig, Credential } from '../config/config.ts'
import type { Dialect, DialectName, RequestFacts, RouteMatch } from '../dialects/dialect.ts'
import type { UploadWatcher } from '../http/upload-watcher.ts'
import type { AnswerMeter } from '../metering/answer-meter.ts'
import type { ExchangeCost } from '../metering/exchange-cost.ts'
import type { ChargeRequest, ChargeResult, Hold } from '../ledger/ledger.ts'
import type { ProviderObject } from '../ledger/object-ledger.ts'
import type { OwnEndpoint } from '../own-endpoints/own-endpoint.ts'
import type { MeasuredPart } from '../media/measure-parts.ts'
import type { NamedPrice } from '../models/named-models.ts'
import type { Price } from '../money/price.ts'
import type { UsageLine } from '../money/usage.ts'

/** Where a request goes by its method, path and headers alone; set before the first gate. */
export interface Route {
  readonly dialect: Dialect
  readonly match: RouteMatch
  /** What the client's path begins with, in place of the provider's base URL: `/v1`, `/groq/v1`. */
  readonly prefix: string
  /** The provider in the path (`/groq/v1/...`), which then is the only one asked. */
  readonly providerName: string | undefined
  /** Keys in the query, cut out of `match.upstreamPath`. */
  readonly queryKeys: readonly string[]
  /** Set when the gateway itself answers, below `/gateway/v1/`. */
  readonly ownEndpoint?: OwnEndpoint
}

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
  /** Of a batch: what it costs, and the prices of its models by their names at the provider. */
  readonly batch?: { readonly cost: ExchangeCost; readonly prices: ReadonlyMap<string, Price> }
  /** What models cost that the request names beside its own, such as an advisor or one that draws. */
  readonly named?: readonly NamedPrice[]
  /** The same request at the model's next provider, for when this one cannot take it. */
  readonly next?: (() => Target | undefined) | undefined
}

declare module '../pipeline/facts.ts' {
  interface Facts {
    route: Route
    key: KeyRecord
    /** Makes sure that the key may still be used; set for sessions. Throws a GatewayError. */
    checkKey: () => void
    /** What the scan of the body found. */
    request: RequestFacts
    target: Target
    /** Media of which the gateway could not find out how long or large they are. */
    unmeasured: readonly MeasuredPart[]
    /** Gives back what `body` and `content` take up. */
    receivedBody: { close(): void }
    /** The request's body as it came; absent where it streams through. */
    body: RequestBody
    /** The body with its content-encoding undone: the offsets of `request` are into it. The same where it has none. */
    content: RequestBody
    /** The body of an upload that streams through. */
    upload: StreamedBody
    /** What the operation had watch the upload. */
    uploadWatcher: UploadWatcher
    hold: Hold
    /** What the exchange was charged, once it is durable. */
    charged: { readonly charge: ChargeRequest; readonly result: ChargeResult }
    meter: AnswerMeter
    /** What the exchange is charged for, once that is decided. */
    usage: readonly UsageLine[]
  }
}
