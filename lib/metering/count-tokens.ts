/**
 * A text whose tokens are counted. `prompt` is a request's JSON, of which only the parts that the model reads count;
 * `escaped` is the text between the quotes of a JSON string; `plain` is plain text.
 */
export interface TextToCount {
  readonly form: 'prompt' | 'escaped' | 'plain'
  /** In UTF-8; may be truncated anywhere. */
  readonly bytes: Uint8Array
}

/** Tokens of the parts of a text, before any provider factor. */
export interface TokenCount {
  readonly text: number
  /** Tokens of tools and schemas, which providers reformat. */
  readonly definitions: number
  readonly messages: number
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** The longest run of one kind passed to the tokenizer: its time grows with the square of a run. */
const runUnitsMax = 128
/** Long enough that the overhead of a call is small, short enough that each call is short. */
const pieceUnitsMax = 8192

/** Counts tokens, with a tokenizer that only receives texts it can process quickly. */
export function countTokens({ form, bytes }: TextToCount, tokenize: (text: string) => number): TokenCount {
  const text = new TextDecoder().decode(bytes)
  const count = (one: string): number => {
    let tokens = 0
    for (const piece of boundedPieces(one)) tokens += tokenize(piece)
    return tokens
  }
  const found = form === 'prompt' ? readPrompt(text) : undefined
  if (found === undefined)
    return { text: count(form === 'plain' ? text : unescape(text)), definitions: 0, messages: 0 }
  return {
    text: count(found.texts.join('\n')),
    definitions: count(found.definitions.join('\n')),
    messages: found.messages,
  }
}

/** The texts of a request's JSON that a model reads. */
interface PromptTexts {
  /** Every string but settings. */
  readonly texts: readonly string[]
  /** Tools and schemas as JSON: their names and structure are read too. */
  readonly definitions: readonly string[]
  /** Turns of the conversation: each is wrapped in a few tokens. */
  readonly messages: number
}

/** Members with settings for the provider, which the model does not see. */
const settings: ReadonlySet<string> = new Set(
  `cache_control call_id detail effort encrypted_content format id include media_type metadata
    mime_type mimeType modalities model previous_response_id prompt_cache_key reasoning_effort
    response_modalities responseModalities role safety_identifier safetySettings service_tier signature
    status thought_signature thoughtSignature tool_call_id tool_choice tool_use_id toolConfig truncation
    type user verbosity`.split(/\s+/),
)

const definitions: ReadonlySet<string> = new Set(
  `functions json_schema response_format response_schema
    responseJsonSchema responseSchema schema tools`.split(/\s+/),
)

/** No real request has text in deeper structures. */
const depthMax = 64

/** Finds the texts that the model reads in a request, in any of the dialects. */
function promptTexts(request: unknown): PromptTexts {
  const found = { texts: [] as string[], definitions: [] as string[], messages: 0 }
  gather(request, found, 0)
  return found
}

function gather(
  value: unknown,
  found: { texts: string[]; definitions: string[]; messages: number },
  depth: number,
): void {
  if (typeof value === 'string') {
    found.texts.push(value)
  } else if (depth > depthMax || typeof value !== 'object' || value === null) {
    return
  } else if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) gather(item, found, depth + 1)
  } else {
    if ('role' in value || 'parts' in value) found.messages += 1
    for (const [name, member] of Object.entries(value)) {
      if (settings.has(name)) continue
      if (definitions.has(name)) found.definitions.push(JSON.stringify(member))
      else gather(member, found, depth + 1)
    }
  }
}

/** Undefined for truncated JSON: its punctuation is then so little beside the text that it may count as text. */
function readPrompt(text: string): PromptTexts | undefined {
  try {
    return promptTexts(JSON.parse(text))
  } catch (error) {
    // Thousands of nested brackets overflow the stack with a RangeError.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/** Many clients escape every letter beyond ASCII as `\u0434`, whose characters would otherwise count as tokens. */
function unescape(text: string): string {
  return text.replace(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_whole, code: string | undefined, mark: string) =>
    code === undefined ? (escapes[mark] ?? mark) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/**
 * Cuts a text into pieces that a byte-pair tokenizer processes in linear time. Words longer than 128 characters, and
 * runs of blanks of that length, are cut, which adds at most one token per cut; elsewhere a piece ends before a blank,
 * where tokens end anyway.
 */
export function boundedPieces(text: string): string[] {
  const pieces: string[] = []
  let start = 0
  let run = 0
  let wasBlank = false
  for (let index = 0; index < text.length; index += 1) {
    const isBlank = isBlankUnit(text.charCodeAt(index))
    run = isBlank === wasBlank ? run + 1 : 1
    const isFull = index - start >= pieceUnitsMax && isBlank && !wasBlank
    wasBlank = isBlank
    if (run <= runUnitsMax && !isFull) continue
    pieces.push(text.slice(start, index))
    start = index
    run = 1
  }
  if (start < text.length) pieces.push(text.slice(start))
  return pieces
}

function isBlankUnit(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xa0 || unit === 0x3000
}
