import type { CredentialRefusal } from './credential-refusals.ts'

/**
 * The gateway's built-in knowledge of a provider: its addresses, and its differences from others. An absent property
 * means the common behavior. Quirks of models are in the code that handles them, since many providers serve them.
 */
export interface KnownProvider {
  /** Base URLs by format. */
  readonly dialects: { readonly openai?: string; readonly anthropic?: string; readonly google?: string }
  /** Its own format, if it is not openai's. */
  readonly ownDialect?: 'anthropic' | 'google'
  /** Streams of the openai format report usage only on request (`inject`), or as the request says. */
  readonly streamUsage: 'inject' | 'as-sent'
  /** `/responses` can be upgraded to a WebSocket, by their documentation. */
  readonly responsesWebSocket?: true
  /** Paths that generate, beside the operations of its dialects, below their base URLs. */
  readonly operations?: readonly string[]
  /** It expects its key in `authorization` in the anthropic format too. */
  readonly isBearerAlways?: true
  /** Errors about the gateway's key or its billing; by default those of all known providers. */
  readonly credentialRefusals?: readonly CredentialRefusal[]
  /** It answers 403 for an object that does not exist. */
  readonly forbidsWhatIsGone?: true

  /** Its names in price lists, if they differ from the name here. */
  readonly priceListNames?: Readonly<
    Partial<Record<'genai-prices' | 'LiteLLM' | 'models.dev', readonly string[]>>
  >
  /** Its name in OpenTelemetry's conventions, if it differs from the name here. */
  readonly telemetryName?: string
  /** Documented aliases of models with other names, with the prefix of those names. */
  readonly modelAliases?: Readonly<Record<string, string>>
  /** It serves requests for retired models with others, and bills those. */
  readonly billsReplacements?: true

  /** It sells tiers above the usual price. Other providers refuse or ignore tiers. */
  readonly sellsTiers?: true
  /** The member that requests a tier, by the tier's name, if it is not `service_tier`. */
  readonly tierMembers?: ReadonlyMap<string, string>
  /** It rents containers out. Others bill code by its runs, or not at all. */
  readonly rentsContainers?: true
  /** The most that it bills beside tokens and reports by a stated cost alone. */
  readonly fees?: ProviderFees

  /** Its tokens relative to tiktoken's; OpenAI's by default. */
  readonly tokenizer?: Tokenizer
  /** Tokens of the instructions that it adds before each request. */
  readonly instructionTokens?: number
  /** Tokens that are in `total_tokens` only, if known. */
  readonly tokensInTotalOnly?: 'reasoning' | 'output' | 'audioInput'
  /** Its models write their input to a cache without a request to do so. */
  readonly cachesByDefault?: true
  /** It reads `max_completion_tokens`. Others ignore an unknown field, and write without a limit. */
  readonly readsCompletionTokens?: true
  /** Models that think beyond a request's cap, by their names without any prefix that ends in a slash. */
  readonly thinksBeyondCap?: RegExp
  /** Members of a request that set how long to think. */
  readonly reasoningMembers?: RegExp

  /** The most continuations of a model after tool results; `loopsMax` by default. */
  readonly toolRoundsMax?: number
  /** Limits of its own tools, which take precedence over those of common tools. */
  readonly tools?: readonly ToolBound[]
  /** Each tool sets its own maximum number of uses. */
  readonly readsToolUses?: true
  /** The member of a request that limits the uses of all its tools. */
  readonly toolUsesMember?: 'max_tool_calls'
  /** The member of a request that limits the continuations after tool results. */
  readonly toolRoundsMember?: 'max_turns'
  /** Tools whose results a request may cap in tokens, by their types. */
  readonly cappedTools?: RegExp
  /** The advisor tool can cap the advisor's responses. */
  readonly capsAdvisors?: true
  /** Attached files are read by a search tool, in rounds. */
  readonly searchesAttachments?: true
  /** Its usage counts its searches, or states the cost, or its messages list the tools that ran. */
  readonly tellsSearches?: true

  /** It reads a file that a text names. */
  readonly readsFilesInText?: true
  /** Tokens of a page of a document, whose text it does not bill. */
  readonly pageTokens?: number
  /** It reads a video as a number of frames a second, each of a number of tokens. */
  readonly readsVideosByFrame?: true
  /** The input images of a request are billed like those that it makes, at a price of their own. */
  readonly billsInputImages?: true
  /** Shorter audio is billed as this many seconds. */
  readonly audioSecondsMin?: number
  /** Plain transcripts report the length of their audio, or its tokens. */
  readonly tellsAudioLength?: true
  /** Without a length in the request a video has its model's own default length. */
  readonly hasOwnVideoLengths?: true
  /** The cost of a video is stated in its job, not with its bytes. */
  readonly statesVideoCost?: true
  /** The format of its batches, if it is not OpenAI's. */
  readonly batches?: 'mistral' | 'xai'
}

/** In dollars: for a page whose text is extracted, an image, a search. */
export interface ProviderFees {
  readonly pageUsd: number
  readonly imageUsd: number
  readonly searchUsd: number
}

/** How a provider's tokens differ from tiktoken's o200k; ADR 9 describes how well this fits. */
export interface Tokenizer {
  /** Its tokens per token of o200k. */
  readonly factor: number
  /** Tokens around each turn of a conversation, around the whole request, and for the presence of tools. */
  readonly perMessage: number
  readonly perRequest: number
  readonly forTools: number
  /** Tokens of a tool or schema as the model reads it, per token of its JSON. */
  readonly definitions: number
}

/** The most that one use of a tool may cost. */
export interface ToolBound {
  readonly name: string
  /** Matches the tool's type, in lower case and without separators. */
  readonly pattern: RegExp
  /** Tokens that one use adds to the model's input; the context window if no document limits it. */
  readonly tokensPerUse: number | 'window'
  /** Uses in one response; the number of rounds by default. */
  readonly usesMax?: number
  /** Each use is a search, which has a price of its own. */
  readonly isSearch?: true
  /** The stream reports each use while it happens, so that the hold can cover the next one. */
  readonly isSeen?: true
  readonly source: string
}
