import type { GatewayError } from '../pipeline/errors.ts'
import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { MediaPart } from '../http/media-part.ts'
import type { MultipartResult } from '../http/multipart-scan.ts'
import type { UploadHead, UploadWatcher } from '../http/upload-watcher.ts'
import type { RouteRow } from './route-table.ts'
import type { CacheTerm, Meter, Meters, NamedObject, UsageReading } from '../money/usage.ts'
import type { TextTokens } from '../http/text-density.ts'
import type { AskedReasoning } from './asked-reasoning.ts'
import type { BatchedRequests } from './batch-requests.ts'
import type { JobKind } from './operation-kinds.ts'
import type { ObjectList } from './object-list.ts'
import type { ProviderTool } from './provider-tools.ts'
import type { SessionProtocol, TurnProtocol } from './session.ts'

/** The families of wire formats. */
export type DialectName = 'openai' | 'anthropic' | 'google'

/** A half-open range of bytes in a request body. */
interface Span {
  readonly start: number
  readonly end: number
}

/** What the gates know about a request's body. A member that the body lacks is absent: no default is filled in. */
export interface RequestFacts {
  /** The model that the body names, unescaped; undefined if it names none. */
  readonly model?: string
  /** The bytes of the model's value (JSON: with its quotes; multipart: the field's content). */
  readonly modelSpan?: Span
  /** The prefix of the model's name in its value: `models/`. */
  readonly modelPrefix?: string
  readonly isStreaming: boolean
  /** The most output tokens the request allows per candidate. */
  readonly outputTokensCap?: number
  /** The same cap in `max_completion_tokens`, which not every provider reads. */
  readonly completionTokensCap?: number
  /** How long the model is asked to think before it responds. */
  readonly reasoning?: readonly AskedReasoning[]
  /** Bytes of the predicted output in the request: predicted tokens that turn out wrong are billed as output. */
  readonly predictedBytes?: number
  /** The requested service tier or speed; undefined for the standard one. */
  readonly wantedTier?: string
  /** How long the provider's cache is asked to keep the request's content: writing it costs more than reading it. */
  readonly cacheWrite?: '5m' | '1h'
  /** How many searches the provider's tools usually make for such a request. */
  readonly searches?: number
  /** Models that the body names beside the responding one: of tools, advisors, fallbacks, transcripts. */
  readonly namedModels?: readonly NamedModel[]
  /** Where the body repeats the model in the path; a provider may read either. */
  readonly sameModels?: readonly NamedModel[]
  /** The tools that the provider runs by itself for the request. */
  readonly tools?: readonly ProviderTool[]
  /** The state that its provider stores for it may rent a container. */
  readonly mayRent?: true
  /** How many times the provider adds instructions for tools to the prompt. */
  readonly explainedTools?: number
  /** The most uses of all tools together, by the member that says so. */
  readonly toolUsesMax?: { readonly member: string; readonly uses: number }
  /** The response may be a single document although a stream is requested. */
  readonly mayComeWhole?: true
  /** A stream reports each use of a tool while it happens. */
  readonly showsTools?: true
  /** The provider may compact the conversation and continue from the summary: it is read once more. */
  readonly isCompacted?: true
  /** Frames of video that the model reads, where it is more than one a second. */
  readonly framesPerSecond?: number
  /** The model itself is asked for images, which no cap on its text limits. */
  readonly writesImages?: true
  /** A video is requested without a length. */
  readonly isLengthUnsaid?: true
  /**
   * Whether the response to a transcription reports the length of its audio; `perhaps` where not every provider does.
   */
  readonly reportsLength?: 'surely' | 'perhaps' | 'never'
  /** Another model, with which the provider's tools may draw. */
  readonly drawsWith?: string
  /** Which of several concurrent responses on one connection this is. */
  readonly lane?: string
  /** The number of requested responses (`n`, `candidateCount`); 1 by default. */
  readonly candidates: number
  /** What to insert and where so that the stream reports its usage, for a streamed request that does not ask for it. */
  readonly usageSplice?: { readonly span: Span; readonly bytes: Buffer }
  /** Models that the provider may use instead of the requested one. */
  readonly otherModels?: readonly string[]
  /** Body bytes that are text as the provider tokenizes it: the body less its inline media. */
  readonly textBytes: number
  /** The text's tokens; at most one token a byte if they were not counted. */
  readonly textTokens?: TextTokens
  readonly media: readonly MediaPart[]
  /** Objects of the provider that the request refers to, such as `previous_response_id`. */
  readonly objects: readonly NamedObject[]
  /** Files that its texts name, which only some providers read. */
  readonly filesInText?: readonly NamedObject[]
  /** Units known from the request alone: images requested, characters to speak, seconds of video. */
  readonly units?: Meters
  /** What the provider stores of the state that the request continues: billed as input, and not in the body. */
  readonly context?: Meters
  /** Its texts are read one by one, so that no context window limits their total. */
  readonly isReadInParts?: boolean
  /** It continues from something of unknown size. */
  readonly readsUnknown?: true
  /** The provider does not store the response, so that no later request can refer to it. */
  readonly isForgotten?: boolean
  /** The provider stores the conversation under the response's id. */
  readonly isThreaded?: boolean
  /** The response names objects, which responses of this operation usually do not. */
  readonly makesObjects?: boolean
  /** For how many hours the request's content is to be stored and paid for. Its text is in the units already. */
  readonly keptHours?: number
  /** The end of the storage, in milliseconds since the epoch; hours and units are then those of one hour. */
  readonly keptUntil?: number
  /** The term of the cached content whose term the request changes. */
  readonly cacheTerm?: CacheTerm
  /** The price variant of those units, such as `1024x1024/high`. */
  readonly unitsVariant?: string
  /** How many input images each request of a batch has, which are billed in addition to those that it makes. */
  readonly imagesGiven?: number
  /** The provider responds at once and works on: its usage is known later (see `JobKind`). */
  readonly startsJob?: boolean
  /** The file whose upload begins will be the input of a batch. */
  readonly isForBatch?: boolean
  /** The size of the file whose upload begins. */
  readonly fileBytes?: number
  readonly batch?: BatchedRequests
}

/** A model that a request names beside the responding one, and where. */
export interface NamedModel {
  readonly name: string
  /** Its path in the body, or its place in a batch. */
  readonly at: string
}

/** What a usage reader may know beside the response. */
export interface UsageReaderContext {
  /** The provider's config name, or the name it is `like`: provider quirks depend on it (wire.md section 4). */
  readonly providerKind: string
  readonly facts: RequestFacts
  /** The object that the path names, which the response may not repeat, with what is known of it. */
  readonly object?: NamedObject
}

/** Reads usage out of a response in flight. Receives every decoded byte once, in order; never throws. */
export interface UsageReader {
  push(chunk: Buffer): void
  /** Objects named so far and not yet returned; they must be recorded before the bytes that name them are sent on. */
  takeObjects(): readonly NamedObject[]
  /** True once the dialect's last event has been seen: a client that disconnects now has the whole response. */
  readonly isTerminal: boolean
  /** One for each byte of text, and `toolProgress` for each use of a tool; absent where nothing is charged. */
  readonly progress?: number
  /** What `end` would return if the response ended here; absent where a response is no work of its own. */
  peek?(): UsageReading
  /** The reading so far. Called once, when the response has ended or the client has disconnected. */
  end(): UsageReading
}

/** What a usage reader knows of a response before its body. */
export interface HeadFacts {
  readonly status: number
  /** Lower-case, without parameters; empty when absent. */
  readonly contentType: string
  /** The tier that the headers name. */
  readonly servedTier?: string | undefined
}

/**
 * How a request's body is read: scanned as JSON, scanned as multipart, held and forwarded unseen, streamed
 * through without being held, or refused.
 */
export type BodyKind = 'json' | 'multipart' | 'opaque' | 'streamed' | 'none'

/** A body of which only the length is at hand: the rest may be in a file. */
export interface BodyLength {
  readonly length: number
}

/** Reads a JSON body part by part as it arrives, so that its parts need not be kept. */
export interface JsonPartsReader {
  /** The name under which the interest reports a part. */
  readonly partName: string
  /** Receives the findings of complete parts, and of what they contain. */
  take(findings: readonly Finding[]): void
  /** Called once, with the findings outside the parts. */
  end(rest: ScanResult, body: BodyLength): RequestFacts
}

/** One operation of a dialect, such as `chat` or `embeddings`. */
export interface Operation {
  readonly name: string
  readonly body: BodyKind
  /**
   * Where the model's name is; `job` means that the model, the length and the size are those of the job in the path.
   */
  readonly modelIn: 'body' | 'path' | 'job' | 'cache' | 'none'
  /** The model that the provider uses when a request names none. */
  readonly defaultModel?: string
  /** Free operations place no hold and leave no charge. */
  readonly isFree: boolean
  /** The kinds of providers that do not bill it: at others the same path may be paid work. */
  readonly freeAt?: ReadonlySet<string>
  /** The only kinds of providers at which its cost is known from the request. */
  readonly pricedAt?: ReadonlySet<string>
  /** Refused with 501 `not_supported` and this reason. */
  readonly unsupported?: string
  /** It creates keys that work without the gateway: refused for this reason, unless the operator allows it. */
  readonly mintsKeys?: string
  /**
   * It adds files to a store, those that it names or its own body: the units of their bytes, where undefined stands for
   * a file of unknown size.
   * @param headers of the request, as a flat list in the received order
   */
  readonly unitsOfFiles?: (bytes: readonly (number | undefined)[], headers: readonly string[]) => Meters
  /** It is a WebSocket: turns are read from its messages, and plain requests are answered with a demand to upgrade. */
  readonly session?: SessionProtocol
  /** It is a WebSocket whose messages are requests, each with its own gates, hold and charge. */
  readonly turns?: TurnProtocol
  /** Answered by the gateway itself, from its own list of models. */
  readonly isModelList?: boolean
  /** Answered by the gateway, from the account's own objects as their providers show them. */
  readonly list?: ObjectList
  /** It deletes the object that the path names, unless the provider refuses. */
  readonly isDeletion?: true
  /** The meter for which a model must have a price, or the request is refused. */
  readonly mainMeter: Meter
  /** JSON bodies: what the scan looks for, and how the findings become facts. */
  readonly interest?: Interest
  /** The body must be read, since the batch in it determines models, prices and the hold. */
  readonly isBatch?: boolean
  /** Bodies that may have very many parts are read part by part, instead of by `factsFromJson`. */
  readJsonParts?(): JsonPartsReader
  factsFromJson?(scan: ScanResult, body: BodyLength): RequestFacts
  factsFromMultipart?(scan: MultipartResult, body: BodyLength): RequestFacts
  /**
   * For streamed bodies: creates the watcher that reads the bytes as they pass; it becomes the fact `uploadWatcher`.
   */
  watchUpload?(head: UploadHead): UploadWatcher
  /** Absent for operations whose response has nothing to read; returns undefined if this response has nothing. */
  readUsage?(head: HeadFacts, context: UsageReaderContext): UsageReader | undefined
  /** Responses of this operation name objects of the provider, so they are scanned for ids. */
  readonly namesObjects?: boolean
  /** The body is a file, a form with a file, or a description of a file: it is inspected in transit. */
  readonly carriesFile?: 'bytes' | 'form' | 'description'
  /** Objects that a response's headers name; a flat list in the received order. */
  objectsInHead?(headers: readonly string[]): readonly NamedObject[]
  /** A request that names the object in its address needs no key: it belongs to the account that made the object. */
  readonly isOpenByObject?: boolean
  /**
   * The operation is about the job that the path names (`RouteMatch.object`): its response may tell how the job ended
   * (`reads`), or it deletes the job (`ends`), which must have ended before.
   */
  readonly job?: 'reads' | 'ends'
}

/** A request's method and path, matched. */
export interface RouteMatch {
  readonly operation: Operation
  /** The path and query below the dialect's base URL, credentials cut out: `/chat/completions?x=1`. */
  readonly upstreamPath: string
  /** The model in the path, decoded, for Google. */
  readonly pathModel?: string
  /** The position of the model in `upstreamPath`, for aliases. */
  readonly pathModelSpan?: Span
  /** `upstreamPath` is below the provider's origin, not below its base URL (`/api/hello`). */
  readonly isAtOrigin?: boolean
  /** Google's `/v1` was requested, where the base URL says `/v1beta`. */
  readonly isStableVersion?: boolean
  /** The object the path names, such as a stored response. */
  readonly object?: NamedObject
}

/** Everything that is peculiar to a wire format. */
export interface Dialect {
  readonly name: DialectName
  /**
   * Matches a path below the dialect's prefix (`/chat/completions`), query included.
   * @throws GatewayError route_not_found, method_not_allowed
   */
  match(method: string, pathAndQuery: string): RouteMatch
  /** All routes that can match. */
  readonly routes: readonly RouteRow[]
  /** An unknown operation under a provider's path: forwarded, its usage read generically. */
  readonly generic: Operation
  /** The kinds of jobs that requests of this dialect can start. */
  readonly jobKinds: readonly JobKind[]
  /** The header in which the dialect's SDKs look for the id of a failed request. */
  readonly requestIdHeader: string
  /** The body of an error response, as JSON text. */
  errorBody(error: GatewayError, exchangeId: string): string
  /**
   * One event that ends a broken stream so that SDKs raise, as bytes of the event stream. The operation's name decides
   * where operations differ in the shape of an error (OpenAI's responses).
   */
  errorEvent(error: GatewayError, exchangeId: string, operationName?: string): Buffer
  /** The dialect's own list of models, or the one model requested. */
  modelList(models: readonly string[], only: string | undefined): unknown
}
