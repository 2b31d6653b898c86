import type { Meter, Meters, NamedObject } from './usage.ts'

/** A tool, a plugin or an MCP server that a provider runs by itself for a request. */
export interface ProviderTool {
  /** Its `type`, its plugin's `id`, or the member that requests it: lower-case letters and digits only. */
  readonly type: string
  /** The most uses, if the request limits them. */
  readonly uses?: number
  /** The most tokens that one use adds to the model's input, if the request limits them. */
  readonly tokensPerUse?: number
  /** The most tokens that one use makes its own model write, if the request limits them. */
  readonly outputTokens?: number
  /** How often its own model may continue after its own tools in each use, if it has any. */
  readonly steps?: number
  /** The model that it calls. */
  readonly model?: string
}

/** Requests of a batch for which their provider does the same work, whatever their content. */
export interface BatchedWork {
  readonly tools: readonly ProviderTool[]
  /** The number of requested responses for each of them (`n`). */
  readonly candidates: number
  /** The provider may compact them, which reads them once more. */
  readonly isCompacted: boolean
  readonly requests: number
}

/** Media of one kind: their number and bytes; a part of unknown size counts as 1 MiB. */
interface MediaSum {
  readonly count: number
  readonly bytes: number
}

/** The demands of a batch's requests to one model at one endpoint, together. */
export interface BatchShare {
  /** As the requests spell it; `*` if the path names the model and they do not. */
  readonly model: string
  /** The endpoint of each: `/v1/chat/completions`; empty if the batch names one for all. */
  readonly endpoint: string
  /** The meter for which the model must have a price; by default that of the batch's operation. */
  readonly mainMeter?: Meter
  /** The provider bills nothing for them, so their model needs no price. */
  readonly isFree?: boolean
  /** The provider may run tools for them, such as searches, which no totals report. */
  readonly mayRunTools?: boolean
  /** How many of them may have images made, by the models that make them. */
  readonly drawsWith?: Readonly<Record<string, number>>
  /** How many of them name each model beside their own, such as an advisor, and the first place. */
  readonly namedModels?: Readonly<Record<string, { readonly at: string; readonly requests: number }>>
  /** How many searches their tools usually make. */
  readonly searches?: number
  /** The work that their provider does for them; it covers all requests. */
  readonly work: readonly BatchedWork[]
  /** The tokens of their texts; at most a token a byte if they were not counted. */
  readonly textTokens?: { readonly most: number; readonly likely: number }
  /** The number of tools that their provider explains to the model, over all of them. */
  readonly explainedTools?: number
  /** Some of them have several texts that are read separately, so that no window limits them. */
  readonly isReadInParts?: boolean
  /** Bytes of predicted output. */
  readonly predictedBytes?: number
  /** How many of them name audio of unknown size. */
  readonly unknownAudio?: number
  /** How many of them name an object whose input size is unknown. */
  readonly unread?: number
  /** How many of them name files in their texts, which only some providers read. */
  readonly namingFiles?: number
  /** The tier that all of them request beside the batch's own: `fast`, `us`. */
  readonly wantedTier?: string
  /** Their caps are in `max_completion_tokens`, which not every provider reads. */
  readonly isCompletionCapped?: true
  /** How long a cache keeps their content; absent if none asks for it. */
  readonly cacheWrite?: '5m' | '1h'
  /** The first of them: `line 3` of a file, `requests[2]` of a body. */
  readonly firstAt: string
  readonly requests: number
  readonly textBytes: number
  /** The longest of them, which determines the levels of a price that they can reach. */
  readonly textBytesLongest: number
  /** Sum of the output caps of requests with a cap, over all their candidates. */
  readonly outputTokensCapped: number
  /** Candidates of the requests with a cap, and of those without one. */
  readonly candidatesCapped: number
  readonly candidatesUncapped: number
  /** By kind: `image`, `audio`. */
  readonly media: Readonly<Record<string, MediaSum>>
  /** Units that the requests state themselves, such as images, and the price variant of all of them. */
  readonly units?: Readonly<Meters>
  readonly unitsVariant?: string
  /** The number of input images of each, which are included in the units. */
  readonly imagesGiven?: number
  /** How many of them continue from each stored object of the provider, by its kind and id. */
  readonly goesOnFrom?: Readonly<Record<string, number>>
}

/** The facts of a batch's requests before they are sent; plain data, stored with an uploaded file. */
export interface BatchFacts {
  readonly requests: number
  readonly shares: readonly BatchShare[]
  /** Objects of the provider to which requests refer, each with its first place. */
  readonly objects: readonly NamedObject[]
  /** Files that their texts name, which only some providers read. */
  readonly filesInText?: readonly NamedObject[]
  /** Why no batch can be created from it: the first problem, and where. */
  readonly problem?: { readonly at: string; readonly message: string }
}

/** All tools that a provider runs for requests of a batch. */
export function toolsOf({ work }: Pick<BatchShare, 'work'>): readonly ProviderTool[] {
  return work.flatMap(({ tools }) => tools)
}
