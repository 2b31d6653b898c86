import type { Meter, Meters, NamedObject } from './usage.ts'

/** What a provider runs by itself for a request: a tool, a plugin, a server of tools. */
export interface ProviderTool {
  /** Its `type`, its plugin's `id`, or the member that asks for it: small letters and digits only. */
  readonly type: string
  /** How often it may be used, where the request says so. */
  readonly uses?: number
  /** The most tokens that one use gives the model to read, where the request says so. */
  readonly tokensPerUse?: number
  /** The most tokens that one use makes its own model write, where the request says so. */
  readonly outputTokens?: number
  /** How often its own model may go on after tools of its own each time, where it has any. */
  readonly steps?: number
  /** The model that it asks. */
  readonly model?: string
}

/** Requests of a batch for which their provider does the same work, whatever they say. */
export interface BatchedWork {
  readonly tools: readonly ProviderTool[]
  /** How many answers each of them asks for (`n`). */
  readonly candidates: number
  /** They may be summed up by the provider, which reads them once more. */
  readonly isCompacted: boolean
  readonly requests: number
}

/** Media of one kind: how many, and their bytes, each of an unknown size taken for 1 MiB. */
interface MediaSum {
  readonly count: number
  readonly bytes: number
}

/** What the requests of a batch to one model at one endpoint ask for, together. */
export interface BatchShare {
  /** As the requests spell it; `*` where they name none and the path does. */
  readonly model: string
  /** Where each of them goes: `/v1/chat/completions`; empty where the batch says that of all. */
  readonly endpoint: string
  /** What a model must have a price for to be asked; that of the batch's operation unless said. */
  readonly mainMeter?: Meter
  /** The provider bills nothing for them, so their model needs no price. */
  readonly isFree?: boolean
  /** The provider may run tools for them, such as searches, of which no totals tell. */
  readonly mayRunTools?: boolean
  /** How many of them may have images drawn, by the models that draw. */
  readonly drawsWith?: Readonly<Record<string, number>>
  /** How many of them name each model beside their own, such as an advisor, and where first. */
  readonly namedModels?: Readonly<Record<string, { readonly at: string; readonly requests: number }>>
  /** How many searches their tools usually make. */
  readonly searches?: number
  /** What their provider does for them; all of them are in it. */
  readonly work: readonly BatchedWork[]
  /** What their texts come to in tokens; a token a byte at most where nobody counted. */
  readonly textTokens?: { readonly most: number; readonly likely: number }
  /** How many tools their provider explains to the model, over all of them. */
  readonly explainedTools?: number
  /** Some of them have several texts that are read each for itself, so that no window bounds them. */
  readonly isReadInParts?: boolean
  /** Bytes of answers that they predict. */
  readonly predictedBytes?: number
  /** How many of them name audio of which nobody knows the size. */
  readonly unknownAudio?: number
  /** How many of them name something of which nobody knows how much of it is read. */
  readonly unread?: number
  /** How many of them name files in their texts, which only some providers read. */
  readonly namingFiles?: number
  /** What all of them ask for beside a batch's own tier: `fast`, `us`. */
  readonly wantedTier?: string
  /** Their caps stand in `max_completion_tokens`, which not every provider reads. */
  readonly isCompletionCapped?: true
  /** How long a cache is to keep what they bring; of none of them unless said. */
  readonly cacheWrite?: '5m' | '1h'
  /** The first of them: `line 3` of a file, `requests[2]` of a body. */
  readonly firstAt: string
  readonly requests: number
  readonly textBytes: number
  /** The longest of them, which says what levels of a price they can reach. */
  readonly textBytesLongest: number
  /** Sum of the caps on output that requests name, over all their candidates. */
  readonly outputTokensCapped: number
  /** Candidates of the requests that name a cap, and of those that name none. */
  readonly candidatesCapped: number
  readonly candidatesUncapped: number
  /** By kind: `image`, `audio`. */
  readonly media: Readonly<Record<string, MediaSum>>
  /** Units that the requests name themselves, such as images, and the variant all of them are priced by. */
  readonly units?: Readonly<Meters>
  readonly unitsVariant?: string
  /** How many images each of them begins from, which are among the units of all. */
  readonly imagesGiven?: number
  /** How many of them go on from each object that the provider keeps, by its kind and id. */
  readonly goesOnFrom?: Readonly<Record<string, number>>
}

/** What is known of a batch's requests before they are sent; plain data, kept with an uploaded file. */
export interface BatchFacts {
  readonly requests: number
  readonly shares: readonly BatchShare[]
  /** Objects of the provider that requests refer to, each with the first place. */
  readonly objects: readonly NamedObject[]
  /** Files that their texts name, which only some providers read. */
  readonly filesInText?: readonly NamedObject[]
  /** Why no batch can be made of it: the first thing that is wrong, and where. */
  readonly problem?: { readonly at: string; readonly message: string }
}

/** All that a provider runs for requests of a batch. */
export function toolsOf({ work }: Pick<BatchShare, 'work'>): readonly ProviderTool[] {
  return work.flatMap(({ tools }) => tools)
}
