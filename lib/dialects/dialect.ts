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

/** What the gates know of a request's body. Absent is absent: no default is filled in. */
export interface RequestFacts {
  /** The model the body names, unescaped; undefined where the body has none. */
  readonly model?: string
  /** The bytes of the model's value (JSON: with its quotes; multipart: the field's content). */
  readonly modelSpan?: Span
  /** What stands before the model's name in its value: `models/`. */
  readonly modelPrefix?: string
  readonly isStreaming: boolean
  /** The most output tokens the request allows per candidate. */
  readonly outputTokensCap?: number
  /** The same in `max_completion_tokens`, which not every provider reads. */
  readonly completionTokensCap?: number
  /** How long it is asked to think before it answers. */
  readonly reasoning?: readonly AskedReasoning[]
  /** Bytes of an answer that the request predicts: what of it is wrong is billed as output. */
  readonly predictedBytes?: number
  /** The tier of service, or the speed, that is asked for; undefined for the usual one. */
  readonly wantedTier?: string
  /** How long the provider's cache is to keep what the request brings: to write it there is more expensive than to read it. */
  readonly cacheWrite?: '5m' | '1h'
  /** How many searches the provider's tools usually make for such a request. */
  readonly searches?: number
  /** Models that the body names beside the one that answers: of tools, advisors, fallbacks, transcripts. */
  readonly namedModels?: readonly NamedModel[]
  /** Where the body names the model again that the path names; a provider may go by either. */
  readonly sameModels?: readonly NamedModel[]
  /** What the provider runs by itself for it. */
  readonly tools?: readonly ProviderTool[]
  /** What its provider keeps of it may rent a container. */
  readonly mayRent?: true
  /** How often its provider writes instructions for tools around what it says. */
  readonly explainedTools?: number
  /** How often they may be used, all together, by the member that says so. */
  readonly toolUsesMax?: { readonly member: string; readonly uses: number }
  /** The response may come in one piece although it is asked for as a stream. */
  readonly mayComeWhole?: true
  /** A stream tells of each use of a tool while it is made. */
  readonly showsTools?: true
  /** The provider may sum the conversation up and go on from that: it is read once more. */
  readonly isCompacted?: true
  /** Frames of video that are looked at, where it is more than one a second. */
  readonly framesPerSecond?: number
  /** The model itself is asked for images, which no cap on its text bounds. */
  readonly writesImages?: true
  /** A video is asked for, and not how long it is to be. */
  readonly isLengthUnsaid?: true
  /** Whether the response to a transcription reports how long its audio is; `perhaps` where not every provider does. */
  readonly reportsLength?: 'surely' | 'perhaps' | 'never'
  /** Another model, which the provider's tools may draw with. */
  readonly drawsWith?: string
  /** Which of several responses that come over one connection at once. */
  readonly lane?: string
  /** Answers asked for (`n`, `candidateCount`); 1 unless said. */
  readonly candidates: number
  /** Where and what to write so that the stream tells its usage, where the request streams and does not ask for it. */
  readonly usageSplice?: { readonly span: Span; readonly bytes: Buffer }
  /** Models that the provider may take in place of the one that is asked for. */
  readonly otherModels?: readonly string[]
  /** Body bytes that are text as the provider will tokenise it: the body less its inline media. */
  readonly textBytes: number
  /** What they come to in tokens; a token a byte at most where nobody counted. */
  readonly textTokens?: TextTokens
  readonly media: readonly MediaPart[]
  /** Objects of the provider that the request refers to, such as `previous_response_id`. */
  readonly objects: readonly NamedObject[]
  /** Files that its texts name, which only some providers read. */
  readonly filesInText?: readonly NamedObject[]
  /** Units known from the request alone: images asked for, characters to speak, seconds of video. */
  readonly units?: Meters
  /** What the provider keeps of what the request goes on from: it is billed as input, and not in the body. */
  readonly context?: Meters
  /** Its texts are read each for itself, so that no window bounds all of them. */
  readonly isReadInParts?: boolean
  /** It goes on from something of which nobody knows how much it is. */
  readonly readsUnknown?: true
  /** The provider keeps nothing of the answer, so that nobody can name it later. */
  readonly isForgotten?: boolean
  /** The provider keeps the conversation under the answer's name. */
  readonly isThreaded?: boolean
  /** The answer names objects, which answers of this operation do not otherwise. */
  readonly makesObjects?: boolean
  /** For how long what the request brings is to be kept, and paid for. Its text is in the units already. */
  readonly keptHours?: number
  /** Until when, in milliseconds since the epoch; hours and units are those of one hour then. */
  readonly keptUntil?: number
  /** The term of the cached content that is to have another one. */
  readonly cacheTerm?: CacheTerm
  /** The price variant those units have, such as `1024x1024/high`. */
  readonly unitsVariant?: string
  /** How many images each request of a batch begins from, which are billed beside those that it makes. */
  readonly imagesGiven?: number
  /** The provider answers at once and works on: what it consumes is known later (see `JobKind`). */
  readonly startsJob?: boolean
  /** The file that is begun is to be the input of a batch. */
  readonly isForBatch?: boolean
  /** Of the file that is begun. */
  readonly fileBytes?: number
  readonly batch?: BatchedRequests
}

/** A model that a request names beside the one that answers, and where. */
export interface NamedModel {
  readonly name: string
  /** Its path in the body, or its place in a batch. */
  readonly at: string
}

/** What a usage reader may know beside the answer. */
export interface UsageReaderContext {
  /** The provider's config name or what it is `like`: peculiarities hang on it (wire.md section 4). */
  readonly providerKind: string
  readonly facts: RequestFacts
  /** The object that the path names, which the answer may not name again, with what is known of it. */
  readonly object?: NamedObject
}

/** Reads usage out of an answer in flight. Gets every decoded byte once, in order; never throws. */
export interface UsageReader {
  push(chunk: Buffer): void
  /** Objects named so far and not yet taken; they must be recorded before the bytes that name them leave. */
  takeObjects(): readonly NamedObject[]
  /** True once the dialect's last event has been seen: a client that leaves now has the whole answer. */
  readonly isTerminal: boolean
  /** Grows by one for each byte of text, and by `toolProgress` for each use of a tool; absent where nothing is charged. */
  readonly progress?: number
  /** What `end` would answer if the answer ended here; absent where an answer is no work of its own. */
  peek?(): UsageReading
  /** The reading so far. Called once, when the answer has ended or the client has left. */
  end(): UsageReading
}

/** What a usage reader is told of an answer before its bytes. */
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

/** A body of which only the length is at hand: the rest may stand in a file. */
export interface BodyLength {
  readonly length: number
}

/** Reads a JSON body part by part while it comes, so that its parts need not be kept. */
export interface JsonPartsReader {
  /** The name under which the interest reports a part. */
  readonly partName: string
  /** The findings of parts that have come whole, and of what stands in them. */
  take(findings: readonly Finding[]): void
  /** Called once, with what was found outside the parts. */
  end(rest: ScanResult, body: BodyLength): RequestFacts
}

/** One thing a client can ask of a dialect, such as `chat` or `embeddings`. */
export interface Operation {
  readonly name: string
  readonly body: BodyKind
  /** Where the model's name stands; `job` where it is that of the job in the path, as its length and size are. */
  readonly modelIn: 'body' | 'path' | 'job' | 'cache' | 'none'
  /** The model that the provider takes when a request names none. */
  readonly defaultModel?: string
  /** Free operations place no hold and leave no charge. */
  readonly isFree: boolean
  /** The kinds of providers that bill nothing for it: at others the same path may be work that is paid for. */
  readonly freeAt?: ReadonlySet<string>
  /** The only kinds of providers at which what it costs is known from the request. */
  readonly pricedAt?: ReadonlySet<string>
  /** Refused with 501 `not_supported` and this reason. */
  readonly unsupported?: string
  /** It makes keys that work without the gateway: refused for this reason, unless the operator allows it. */
  readonly mintsKeys?: string
  /**
   * It puts files into a store, those that it names or its own body: what they come to by their bytes, undefined for
   * one that nobody has measured.
   * @param headers of the request, flat as they came
   */
  readonly unitsOfFiles?: (bytes: readonly (number | undefined)[], headers: readonly string[]) => Meters
  /** It is a WebSocket: turns are read from its messages, and plain requests are told to upgrade. */
  readonly session?: SessionProtocol
  /** It is a WebSocket whose messages are requests, each with its own gates, hold and charge. */
  readonly turns?: TurnProtocol
  /** Answered by the gateway itself, from its own list of models. */
  readonly isModelList?: boolean
  /** Answered by the gateway, from the account's own objects as their providers show them. */
  readonly list?: ObjectList
  /** It takes the object away that the path names, unless the provider refuses. */
  readonly isDeletion?: true
  /** The meter a model must have a price for, or the request is refused. */
  readonly mainMeter: Meter
  /** JSON bodies: what the scan looks for, and how the findings become facts. */
  readonly interest?: Interest
  /** The body must be read, since the batch in it decides on models, prices and the hold. */
  readonly isBatch?: boolean
  /** Bodies that may have very many parts are read part by part, in place of `factsFromJson`. */
  readJsonParts?(): JsonPartsReader
  factsFromJson?(scan: ScanResult, body: BodyLength): RequestFacts
  factsFromMultipart?(scan: MultipartResult, body: BodyLength): RequestFacts
  /** Bodies that stream through: who looks at the bytes as they pass; it becomes the fact `uploadWatcher`. */
  watchUpload?(head: UploadHead): UploadWatcher
  /** Absent for operations whose answer has nothing to read; answers undefined where this one has not. */
  readUsage?(head: HeadFacts, context: UsageReaderContext): UsageReader | undefined
  /** Answers of this operation name objects of the provider, so they are watched for ids. */
  readonly namesObjects?: boolean
  /** The body is a file, a form with one in it, or what describes one: it is looked at on its way. */
  readonly carriesFile?: 'bytes' | 'form' | 'description'
  /** Objects that an answer's headers name, flat as they came. */
  objectsInHead?(headers: readonly string[]): readonly NamedObject[]
  /** Whoever can name the object in the address is let in without a key: it is the account's that made it. */
  readonly isOpenByObject?: boolean
  /**
   * The operation is about the job that the path names (`RouteMatch.object`): its answer may tell how the job
   * ended (`reads`), or it takes the job away (`ends`, a deletion), which must have ended before.
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
  /** Where the model stands in `upstreamPath`, for aliases. */
  readonly pathModelSpan?: Span
  /** `upstreamPath` stands below the provider's origin, not below its base URL (`/api/hello`). */
  readonly isAtOrigin?: boolean
  /** Google's `/v1` was asked for, where the base URL says `/v1beta`. */
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
  /** Everything that can be matched. */
  readonly routes: readonly RouteRow[]
  /** An unknown operation under a provider's path: forwarded, its usage read generically. */
  readonly generic: Operation
  /** The kinds of jobs that requests of this dialect can start. */
  readonly jobKinds: readonly JobKind[]
  /** The header in which the dialect's SDKs look for the id of a request that failed. */
  readonly requestIdHeader: string
  /** The body of an error answer, as JSON text. */
  errorBody(error: GatewayError, exchangeId: string): string
  /**
   * One event that ends a broken stream so that SDKs raise, as bytes of the event stream. Where operations
   * differ in how an error looks (OpenAI's responses), their name tells.
   */
  errorEvent(error: GatewayError, exchangeId: string, operationName?: string): Buffer
  /** The dialect's own list of models, or the one model that is asked for. */
  modelList(models: readonly string[], only: string | undefined): unknown
}
