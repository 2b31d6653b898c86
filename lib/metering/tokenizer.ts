/** How a provider's tokens differ from tiktoken's o200k; how well this fits stands in ADR 9. */
interface Tokenizer {
  /** Its tokens for one of o200k. */
  readonly factor: number
  /** Tokens around each turn of a conversation, around all of it, and for there being tools at all. */
  readonly perMessage: number
  readonly perRequest: number
  readonly forTools: number
  /** Tokens that a tool or schema is told in, for one of its JSON. */
  readonly definitions: number
}

const openai: Tokenizer = { factor: 1, perMessage: 4, perRequest: 3, forTools: 0, definitions: 0.85 }

const tokenizers: ReadonlyMap<string, Tokenizer> = new Map([
  ['anthropic', { factor: 1.1, perMessage: 4, perRequest: 3, forTools: 330, definitions: 1 }],
  ['google', { factor: 1, perMessage: 0, perRequest: 1, forTools: 0, definitions: 1 }],
  // Bills the text alone.
  ['perplexity', { ...openai, perMessage: 0, perRequest: 0 }],
  // Their tools come with instructions of some hundred tokens.
  ['deepseek', { ...openai, forTools: 230, definitions: 1 }],
  ['xai', { ...openai, forTools: 230, definitions: 1 }],
])

/** The tokens of a provider, by its kind; those of OpenAI where none are known. */
export function tokenizerOf(providerKind: string): Tokenizer {
  return tokenizers.get(providerKind) ?? openai
}
