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

/** What is counted in other units than tokens. */
export const unitMeters = [
  'images',
  'videoSeconds',
  'audioSeconds',
  'characters',
  /** Of documents whose text is read out. */
  'pages',
  'searches',
  'requests',
  /** Machines that a provider rents out for the code it runs, by their memory. */
  'containers',
  /** Dollars that a provider states beyond what the other meters come to. */
  'statedUsd',
  /** Tokens times hours for which a provider keeps them. */
  'cacheStorage',
  /** Gigabytes (2^30 bytes) times days for which a provider keeps them ready to be searched. */
  'storageGigabyteDays',
] as const

/**
 * What can be priced. Meters are disjoint, so that a charge is a plain sum: `input` never contains
 * `cachedInput`, `output` contains reasoning, and so on.
 */
export const meters = [...tokenMeters, ...unitMeters] as const

/** What can be counted and priced. */
export type Meter = (typeof meters)[number]

/** Units by meter. Tokens, images, characters, pages, searches, requests and containers are whole; seconds, hours, days and dollars may have a fraction. */
export type Meters = { -readonly [M in Meter]?: number }

/** All tokens, in and out. */
export function tokensOf(used: Meters): number {
  let tokens = 0
  for (const meter of tokenMeters) tokens += used[meter] ?? 0
  return tokens
}

/** One model's share of an answer. Some answers bill two models (a fallback, an advisor). */
export interface UsageLine {
  /** The model as the answer names it; absent means the model the request was routed to. */
  readonly model?: string
  readonly meters: Meters
  /**
   * The tier that was served, from the answer: `batch`, `flex`, `priority`, `fast`; absent is standard. With what
   * has a factor beside it: `batch+us`.
   */
  readonly tier?: string
  /** Refines unit meters: `1024x1024/high` prices `images/1024x1024/high` before `images`. */
  readonly variant?: string
  /**
   * How many requests of a batch the line sums up; 1 unless said. Their prompts are about equally long, so
   * that one level of a price fits all of them.
   */
  readonly sumOf?: number
}

/** What is known of an object beside whose it is; measured once, when it is made. */
export interface ObjectFacts {
  readonly bytes?: number
  /** By its content: `application/pdf`. */
  readonly mediaType?: string
  /** Of audio and video. */
  readonly seconds?: number
  readonly pages?: number
  /** Of an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** Of JSON lines. */
  readonly lines?: number
  /** Of an upload under way: the key that began it. Those who go on with it by its address send none. */
  readonly keyId?: string
  /** Of an upload under way: what it comes to is to be the input of a batch. */
  readonly isForBatch?: boolean
  /** Of a cached content, for as long as it was paid. */
  readonly cacheTerm?: CacheTerm
  /** What whoever goes on from it gives the model to read again, as far as that was known when it was named. */
  readonly context?: Meters
  /** What a batch of its lines would ask for. */
  readonly batch?: BatchFacts
  /** Of a file that a provider made: the batch whose results stand in it. */
  readonly resultsOf?: string
}

/** How long a cached content is kept: each change of its end is a term of its own. */
export interface CacheTerm {
  /** 0 for the term it was made with. */
  readonly index: number
  /** By the name it was asked for. */
  readonly model: string
  readonly tokens: number
  /** Milliseconds since the epoch. */
  readonly paidUntil: number
}

/** An object of the provider that an answer names, such as a stored response. */
export interface NamedObject {
  readonly kind: ObjectKind
  readonly id: string
  /** Of a name that is an address: it is an object's only where this is the provider's own host. */
  readonly host?: string
  readonly isLabel?: true
  readonly facts?: ObjectFacts
  /** Of a file its size and when it is deleted by itself, as its provider states; milliseconds since the epoch. */
  readonly kept?: { readonly bytes?: number; readonly until?: number }
  /** Its place in a batch: `line 3`. */
  readonly at?: string
}

/** What tells an object of a provider from its others. */
export function objectName({ kind, id }: Pick<NamedObject, 'kind' | 'id'>): string {
  return `${kind} ${id}`
}

/** What an answer says of work that its provider goes on with: a batch, a video, a background response. */
export interface JobSighting {
  readonly kind: ObjectKind
  readonly id: string
  /** `done`: its usage stands in the lines; `failed`: it ended, and the provider bills nothing for it. */
  readonly state: 'running' | 'done' | 'failed'
  /** Of a job that was stopped: what is not among its results by now will never be. */
  readonly isFinal?: boolean
  /** Of a job that is done and whose usage stands in another document: its path below the base URL. */
  readonly resultsPath?: string
}

/** Kinds of what providers keep. */
export type ObjectKind =
  | 'response'
  | 'conversation'
  | 'file'
  | 'upload'
  | 'uploadPart'
  | 'batch'
  /** Requests that were added to a batch of xAI's in one go: the id of the batch, `#` and one of ours. */
  | 'batchPart'
  | 'video'
  | 'operation'
  | 'cachedContent'
  | 'cacheTerm'
  | 'interaction'
  | 'container'
  /** One item of a stored response. */
  | 'item'
  /** An answer in audio that a chat can go on from. */
  | 'audio'
  /** Nobody makes these through the gateway, so they are the operator's own. */
  | 'prompt'
  | 'skill'
  | 'vectorStore'
  /** A vector store as what is paid for by the day: its id, and which day. */
  | 'storeDay'
  | 'fileSearchStore'
  | 'preset'
  | 'agent'
  | 'memoryStore'
  | 'library'
  | 'voice'
  /** What holds the operator's passwords for a server of tools. */
  | 'connector'
  /** A machine in which an agent has worked, with its files. */
  | 'environment'
  | 'tunnel'
  | 'userProfile'
  /** A message of Anthropic's whose conversation the provider keeps, so that the next one can go on from it. */
  | 'thread'
  /** What a Live session can be resumed by. */
  | 'session'
  /** A Realtime session over WebRTC, beside which another connection can be opened. */
  | 'call'

/** Kinds whose objects stand for text and audio that is billed as input of whatever names them. */
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

/** Kinds of objects of which nobody knows how much the model reads. */
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

/** What a usage reader learned from an answer's bytes. */
export interface UsageReading {
  /** Empty when the provider reported no usage; an explicit zero is a line of zeros. */
  readonly lines: readonly UsageLine[]
  /** The provider's own usage object or objects as JSON text, verbatim, for recomputation; absent if none. */
  readonly raw?: string
  /** Units billed with the answer but not priced apart, such as reasoning; kept beside the charge. */
  readonly details?: Readonly<Record<string, number>>
  /** The dialect's last event was seen, or the JSON document was whole. */
  readonly isTerminal: boolean
  /** The answer reported an error inside a 200. */
  readonly hasError: boolean
  /** Some generated output was delivered. */
  readonly hasOutput: boolean
  /** Bytes of generated text seen, the base of an estimate when usage is missing. */
  readonly outputTextBytes: number
  /** How many of them came after the last usage that was told; all of them where none was. */
  readonly unmeteredTextBytes: number
  /** The first part of the generated text, where usage does not cover all of it. */
  readonly textSample?: { readonly bytes: Buffer; readonly isEscaped: boolean; readonly isContinued: boolean }
  /** By which the provider knows the request, where the answer tells it and no header does. */
  readonly providerRequestId?: string
  readonly model?: string
  /** The tier that the answer names, where it names it before its usage. */
  readonly tier?: string
  /** Uses of tools of the provider's own that it has told of. */
  readonly toolUses?: number
  /** What was seen to be made beside the text, as far as no usage tells of it yet. */
  readonly beside?: readonly UsageLine[]
  /** What an operator should look at: `usage_inconsistent`, `usage_invalid`, `usage_zero` and the like. */
  readonly flags: readonly string[]
  /** The answer is about work that goes on after it, or that has come to its end. */
  readonly job?: JobSighting
}

/** What a model has read and said, as the input of a request that goes on from it. */
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

/** The units of each meter changed alike. */
export function mapMeters(meters: Readonly<Meters>, change: (units: number) => number): Meters {
  const changed: Meters = {}
  for (const meter in meters) changed[meter as Meter] = change(meters[meter as Meter] ?? 0)
  return changed
}

/** Two sets of units together. */
export function addMeters(left: Readonly<Meters>, right: Readonly<Meters> | undefined): Meters {
  const sum: Meters = { ...left }
  for (const meter in right) sum[meter as Meter] = (sum[meter as Meter] ?? 0) + (right[meter as Meter] ?? 0)
  return sum
}
