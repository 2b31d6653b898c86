import { boundedPieces } from './bounded-pieces.ts'
import { promptTexts, type PromptTexts } from './prompt-texts.ts'

/**
 * A text to be counted. `prompt` is a request's JSON, of which only what the model reads counts; `escaped`
 * is text as it stands between the quotes of JSON; `plain` is text.
 */
export interface TextToCount {
  readonly form: 'prompt' | 'escaped' | 'plain'
  /** In UTF-8; may end in the middle of anything. */
  readonly bytes: Uint8Array
}

/** Tokens of the parts of a text, before any factor of a provider's. */
export interface TokenCount {
  readonly text: number
  /** Tokens of tools and schemas, which providers write in ways of their own. */
  readonly definitions: number
  readonly messages: number
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** Counts tokens, with a tokeniser that is only given texts that cannot keep it long. */
export function countTokens({ form, bytes }: TextToCount, tokenise: (text: string) => number): TokenCount {
  const text = new TextDecoder().decode(bytes)
  const count = (one: string): number => {
    let tokens = 0
    for (const piece of boundedPieces(one)) tokens += tokenise(piece)
    return tokens
  }
  const found = form === 'prompt' ? readPrompt(text) : undefined
  if (found === undefined) {
    return { text: count(form === 'plain' ? text : unescape(text)), definitions: 0, messages: 0 }
  }
  return {
    text: count(found.texts.join('\n')),
    definitions: count(found.definitions.join('\n')),
    messages: found.messages,
  }
}

/** Undefined for JSON that was cut: its marks are so few then beside the text that they may count as text. */
function readPrompt(text: string): PromptTexts | undefined {
  try {
    return promptTexts(JSON.parse(text))
  } catch (error) {
    // A RangeError comes of brackets by the thousand, nested to overflow the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/** Many clients write every letter beyond ASCII as `\u0434`, which would be tokens of its own. */
function unescape(text: string): string {
  return text.replace(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_whole, code: string | undefined, mark: string) =>
    code === undefined ? (escapes[mark] ?? mark) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}
