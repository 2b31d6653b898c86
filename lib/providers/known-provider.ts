import type { CredentialRefusal } from './credential-refusals.ts'

/**
 * What the gateway knows of a provider before the config says anything: its addresses, and in what it differs from the
 * others. A property that is left out is as with most of them. Quirks of models stand where they matter, since many serve them.
 */
export interface KnownProvider {
  /** Base URLs by format. */
  readonly dialects: { readonly openai?: string; readonly anthropic?: string; readonly google?: string }
  /** Its own format, where that is not openai's. */
  readonly ownDialect?: 'anthropic' | 'google'
  /** Streams of the openai format carry no usage unless it is asked for (`inject`), or come as they are asked for. */
  readonly streamUsage: 'inject' | 'as-sent'
  /** `/responses` can be upgraded to a WebSocket, by their documentation. */
  readonly responsesWebSocket?: true
  /** Paths that generate beside the operations of its dialects, below their base URLs. */
  readonly operations?: readonly string[]
  /** Also in the anthropic format it takes its key in `authorization`. */
  readonly isBearerAlways?: true
  /** Errors that are about our key or about who pays for it; those of all who are known unless said. */
  readonly credentialRefusals?: readonly CredentialRefusal[]
  /** It answers 403 for an object that does not exist. */
  readonly forbidsWhatIsGone?: true

  /** Its names in lists of prices, where they differ from here. */
  readonly priceListNames?: Readonly<
    Partial<Record<'genai-prices' | 'LiteLLM' | 'models.dev', readonly string[]>>
  >
  /** Its name in OpenTelemetry's conventions, where it differs from here. */
  readonly telemetryName?: string
  /** Names that it documents as standing for models of other names, by what those begin with. */
  readonly modelAliases?: Readonly<Record<string, string>>
  /** It answers for retired models by others, and bills those. */
  readonly billsReplacements?: true

  /** It sells tiers at more than the usual price. Others refuse tiers, or take no notice of them. */
  readonly sellsTiers?: true
  /** The member in which a tier is asked for, by its name, where it is not `service_tier`. */
  readonly tierMembers?: ReadonlyMap<string, string>
  /** It rents containers out. Others bill code by its runs, or not at all. */
  readonly rentsContainers?: true
  /** The most that it bills apart from tokens and tells by a stated cost alone. */
  readonly fees?: ProviderFees

  /** Its tokens beside tiktoken's; those of OpenAI unless said. */
  readonly tokenizer?: Tokenizer
  /** Tokens of the instructions that it writes before each request. */
  readonly instructionTokens?: number
  /** Tokens that are in `total_tokens` alone, where they are known. */
  readonly tokensInTotalOnly?: 'reasoning' | 'output' | 'audioInput'
  /** Its models write their input to a cache without being asked to. */
  readonly cachesUnasked?: true
  /** It reads `max_completion_tokens`. Others take a field that they do not know for none, and write as much as they like. */
  readonly readsCompletionTokens?: true
  /** Models that think beyond what a request caps, by their names without what stands before a slash. */
  readonly thinksBeyondCap?: RegExp
  /** Members of a request that tell it how long to think. */
  readonly reasoningMembers?: RegExp

  /** How often a model goes on after its tools' results; `loopsMax` unless said. */
  readonly toolRoundsMax?: number
  /** Bounds of its own tools, which go before those of tools that several providers have. */
  readonly tools?: readonly ToolBound[]
  /** Each tool says itself how often it may be used. */
  readonly readsToolUses?: true
  /** The member of a request that bounds how often all its tools may be used. */
  readonly toolUsesMember?: 'max_tool_calls'
  /** The member of a request that bounds how often its model may go on after their results. */
  readonly toolRoundsMember?: 'max_turns'
  /** Tools whose results a request may cap in tokens, by their types. */
  readonly cappedTools?: RegExp
  /** An advisor's answers may be capped by the tool that it is. */
  readonly capsAdvisors?: true
  /** Files that are attached are read by a tool that searches, in rounds. */
  readonly searchesAttachments?: true
  /** Its usage has a counter where it has searched, or states the cost, or its messages list what was run. */
  readonly tellsSearches?: true

  /** It reads a file where a text names it. */
  readonly readsFilesInText?: true
  /** Tokens of a page of a document, of which it bills none of the text. */
  readonly pageTokens?: number
  /** A video is read as so many frames a second, of so many tokens. */
  readonly readsVideosByFrame?: true
  /** The images of a request are billed as those that are made, at a price of their own. */
  readonly billsInputImages?: true
  /** Shorter audio is billed as so many seconds. */
  readonly audioSecondsMin?: number
  /** Plain transcripts report the length of their audio, or its tokens. */
  readonly tellsAudioLength?: true
  /** Videos have a length of their own, by their models, where a request says none. */
  readonly hasOwnVideoLengths?: true
  /** The cost of a video is stated beside it, and not with its bytes. */
  readonly statesVideoCost?: true
  /** Its batches, where they are not OpenAI's. */
  readonly batches?: 'mistral' | 'xai'
}

/** In dollars: a page that is read out, an image, a search. */
export interface ProviderFees {
  readonly pageUsd: number
  readonly imageUsd: number
  readonly searchUsd: number
}

/** How a provider's tokens differ from tiktoken's o200k; how well this fits stands in ADR 9. */
export interface Tokenizer {
  /** Its tokens for one of o200k. */
  readonly factor: number
  /** Tokens around each turn of a conversation, around all of it, and for there being tools at all. */
  readonly perMessage: number
  readonly perRequest: number
  readonly forTools: number
  /** Tokens that a tool or schema is told in, for one of its JSON. */
  readonly definitions: number
}

/** The most that one use of a tool may cost. */
export interface ToolBound {
  readonly name: string
  /** Of the tool's type, in lower case and without anything between its words. */
  readonly pattern: RegExp
  /** Tokens that one use gives the model to read; the context window where no document bounds it. */
  readonly tokensPerUse: number | 'window'
  /** Uses in one response; as many as there are rounds unless said. */
  readonly usesMax?: number
  /** Each use is a search, which has a price of its own. */
  readonly isSearch?: true
  /** Each is told by the stream while it is made, so that the next one can be held for. */
  readonly isSeen?: true
  readonly source: string
}
