import type { BatchFacts } from './batch-facts.ts'

/** Tokens that a model reads. */
export const inputMeters = [
  'input',
  'cachedInput',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'cachedAudioInput',
  'imageInput',
] as const

/** Tokens that a model writes. */
export const outputMeters = ['output', 'audioOutput', 'imageOutput'] as const

/** Tokens, read and written. */
export const tokenMeters = [...inputMeters, ...outputMeters] as const

/** Meters whose unit is not a token. */
export const unitMeters = [
  'images',
  'videoSeconds',
  'audioSeconds',
  'characters',
  /** Of documents whose text is extracted. */
  'pages',
  'searches',
  'requests',
  /** Machines that a provider rents out for running code, by their memory. */
  'containers',
  /** Dollars that a provider states beyond the cost of the other meters. */
  'statedUsd',
  /** Tokens times the hours for which a provider stores them. */
  'cacheStorage',
  /** Gigabytes (2^30 bytes) times the days for which a provider keeps them searchable. */
  'storageGigabyteDays',
] as const

/**
 * Everything that can be priced. Meters are disjoint, so that a charge is a plain sum: `input` never contains
 * `cachedInput`, `output` contains reasoning, and so on.
 */
export const meters = [...tokenMeters, ...unitMeters] as const

/** A meter that can be counted and priced. */
export type Meter = (typeof meters)[number]

/** Units by meter. Tokens, images, characters, pages, searches, requests and containers are whole; seconds, hours, days and dollars may have a fraction. */
export type Meters = { -readonly [M in Meter]?: number }

/** All tokens, in and out. */
export function tokensOf(used: Meters): number {
  let tokens = 0
  for (const meter of tokenMeters) tokens += used[meter] ?? 0
  return tokens
}

/** One model's share of a response. Some responses bill two models (a fallback, an advisor). */
export interface UsageLine {
  /** The model as the response names it; absent means the model that the request was routed to. */
  readonly model?: string
  readonly meters: Meters
  /**
   * The tier that was served, from the response: `batch`, `flex`, `priority`, `fast`; absent is standard. With any
   * other factor appended: `batch+us`.
   */
  readonly tier?: string
  /** Refines unit meters: `1024x1024/high` prices `images/1024x1024/high` before `images`. */
  readonly variant?: string
  /**
   * How many requests of a batch the line sums up; 1 by default. Their prompts have about the same length, so that one
   * level of a price fits all of them.
   */
  readonly sumOf?: number
}

/** The facts of an object beside its owner; measured once, when it is created. */
export interface ObjectFacts {
  readonly bytes?: number
  /** Detected from its content: `application/pdf`. */
  readonly mediaType?: string
  /** For audio and video. */
  readonly seconds?: number
  readonly pages?: number
  /** For an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** For JSON lines. */
  readonly lines?: number
  /** For an upload in progress: the key that began it. Requests that continue it by its address send none. */
  readonly keyId?: string
  /** For an upload in progress: the file is to be the input of a batch. */
  readonly isForBatch?: boolean
  /** For a cached content, until the end of its paid term. */
  readonly cacheTerm?: CacheTerm
  /** The input that a request gets by continuing from it, as far as known when it was named. */
  readonly context?: Meters
  /** The facts of a batch made of its lines. */
  readonly batch?: BatchFacts
  /** For a file that a provider made: the batch whose results it contains. */
  readonly resultsOf?: string
}

/** How long a cached content is stored: each change of its end is a term of its own. */
export interface CacheTerm {
  /** 0 for the initial term. */
  readonly index: number
  /** By its requested name. */
  readonly model: string
  readonly tokens: number
  /** Milliseconds since the epoch. */
  readonly paidUntil: number
}

/** An object of the provider that a response names, such as a stored response. */
export interface NamedObject {
  readonly kind: ObjectKind
  readonly id: string
  /** For a name that is an address: it names an object only if this is the provider's own host. */
  readonly host?: string
  readonly isLabel?: true
  readonly facts?: ObjectFacts
  /** For a file: its size and expiry, as its provider states; milliseconds since the epoch. */
  readonly kept?: { readonly bytes?: number; readonly until?: number }
  /** Its place in a batch: `line 3`. */
  readonly at?: string
}

/** Identifies an object among those of a provider. */
export function objectName({ kind, id }: Pick<NamedObject, 'kind' | 'id'>): string {
  return `${kind} ${id}`
}

/** What a response reports about work that its provider continues: a batch, a video, a background response. */
export interface JobSighting {
  readonly kind: ObjectKind
  readonly id: string
  /** `done`: its usage is in the lines; `failed`: it ended, and the provider does not bill it. */
  readonly state: 'running' | 'done' | 'failed'
  /** For a canceled job: a result that is missing now will never come. */
  readonly isFinal?: boolean
  /** For a job that is done and whose usage is in another document: its path below the base URL. */
  readonly resultsPath?: string
}

/** Kinds of objects that providers store. */
export type ObjectKind =
  | 'response'
  | 'conversation'
  | 'file'
  | 'upload'
  | 'uploadPart'
  | 'batch'
  /** Requests added to an xAI batch together: the id of the batch, `#` and an id of the gateway's. */
  | 'batchPart'
  | 'video'
  | 'operation'
  | 'cachedContent'
  | 'cacheTerm'
  | 'interaction'
  | 'container'
  /** One item of a stored response. */
  | 'item'
  /** An audio response that a chat can continue from. */
  | 'audio'
  /** These cannot be created through the gateway, so they are the operator's own. */
  | 'prompt'
  | 'skill'
  | 'vectorStore'
  /** A vector store, as charged by the day: its id, and which day. */
  | 'storeDay'
  | 'fileSearchStore'
  | 'preset'
  | 'agent'
  | 'memoryStore'
  | 'library'
  | 'voice'
  /** An object with the operator's passwords for an MCP server. */
  | 'connector'
  /** A machine in which an agent has worked, with its files. */
  | 'environment'
  | 'tunnel'
  | 'userProfile'
  /** An Anthropic message whose conversation the provider stores, so that the next one can continue from it. */
  | 'thread'
  /** The handle by which a Live session can be resumed. */
  | 'session'
  /** A Realtime session over WebRTC, beside which another connection can be opened. */
  | 'call'

/** Kinds whose objects contain text and audio that is billed as input of any request that names them. */
export const contextKinds = [
  'response',
  'interaction',
  'thread',
  'item',
  'audio',
  'cachedContent',
] as const satisfies readonly ObjectKind[]

/** Kinds that accounts can list. */
export const listedKinds = [
  'file',
  'batch',
  'video',
  'cachedContent',
  'vectorStore',
  'fileSearchStore',
] as const satisfies readonly ObjectKind[]

/** Kinds of objects whose input size is unknown. */
export const isUnread: ReadonlySet<string> = new Set<ObjectKind>([
  'conversation',
  'prompt',
  'skill',
  'vectorStore',
  'container',
  'preset',
  'agent',
  'memoryStore',
  'library',
  'connector',
  'environment',
])

/** The result of reading a response's bytes for usage. */
export interface UsageReading {
  /** Empty when the provider reported no usage; an explicit zero is a line of zeros. */
  readonly lines: readonly UsageLine[]
  /** The provider's own usage object or objects as JSON text, verbatim, for recomputation; absent if none. */
  readonly raw?: string
  /** Units billed with the response but not priced separately, such as reasoning; stored with the charge. */
  readonly details?: Readonly<Record<string, number>>
  /** The dialect's last event was seen, or the JSON document was complete. */
  readonly isTerminal: boolean
  /** The response reported an error inside a 200. */
  readonly hasError: boolean
  /** Some generated output was delivered. */
  readonly hasOutput: boolean
  /** Bytes of generated text seen, the base of an estimate when usage is missing. */
  readonly outputTextBytes: number
  /** How many of them came after the last reported usage; all of them if none was reported. */
  readonly unmeteredTextBytes: number
  /** The first part of the generated text, if usage does not cover all of it. */
  readonly textSample?: { readonly bytes: Buffer; readonly isEscaped: boolean; readonly isContinued: boolean }
  /** The provider's id of the request, if the response contains it and no header does. */
  readonly providerRequestId?: string
  readonly model?: string
  /** The tier that the response names, if it names it before its usage. */
  readonly tier?: string
  /** Reported uses of tools that the provider runs. */
  readonly toolUses?: number
  /** Output beside text that was seen, as far as no usage reports it yet. */
  readonly beside?: readonly UsageLine[]
  /** Irregularities for the operator: `usage_inconsistent`, `usage_invalid`, `usage_zero` and others. */
  readonly flags: readonly string[]
  /** The response is about work that continues after it, or that has ended. */
  readonly job?: JobSighting
}

/** A model's input and output, as the input of a request that continues from it. */
export function readAgain(used: Readonly<Meters>): Meters {
  const sums: Meters = {}
  for (const [meter, units] of Object.entries(used) as [Meter, number][]) {
    const input = inputAgain[meter]
    if (input !== undefined && units > 0) sums[input] = (sums[input] ?? 0) + units
  }
  return sums
}

const inputAgain: { readonly [M in Meter]?: Meter } = {
  input: 'input',
  cachedInput: 'input',
  cacheWrite5m: 'input',
  cacheWrite1h: 'input',
  output: 'input',
  audioInput: 'audioInput',
  cachedAudioInput: 'audioInput',
  audioOutput: 'audioInput',
  imageInput: 'imageInput',
  imageOutput: 'imageInput',
}

/** Applies a change to the units of each meter. */
export function mapMeters(meters: Readonly<Meters>, change: (units: number) => number): Meters {
  const changed: Meters = {}
  for (const meter in meters) changed[meter as Meter] = change(meters[meter as Meter] ?? 0)
  return changed
}

/** The sum of two sets of units. */
export function addMeters(left: Readonly<Meters>, right: Readonly<Meters> | undefined): Meters {
  const sum: Meters = { ...left }
  for (const meter in right) sum[meter as Meter] = (sum[meter as Meter] ?? 0) + (right[meter as Meter] ?? 0)
  return sum
}
