import { isArray, isObject } from './answer.ts'

const echoCharactersMax = 200
const tokenCharactersMax = 8
const imageTokens = 85

/** What a prompt holds: its text counts by bytes, each picture or file as a fixed number of tokens. */
export interface Prompt {
  readonly tokens: number
  readonly mediaTokens: number
  readonly lastText: string
}

/** The sandbox's answer, cut where the request's cap cuts it. */
export interface Reply {
  readonly text: string
  /** One piece is one token; together they are the text. */
  readonly pieces: readonly string[]
  readonly isCut: boolean
}

/** Four bytes a token, as English text has on average; at least one for any text. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** The same words always get the same answer. */
export function makeReply(lastText: string, tokensMax: number | undefined): Reply {
  const characters = Array.from(lastText.trim())
  const echo = characters.slice(0, echoCharactersMax).join('')
  const rest = characters.length > echoCharactersMax ? '...' : ''
  const said = echo === '' ? 'You sent no text.' : `You said: ${echo}${rest}`
  const all = split(`This is the gateway's sandbox, not a model. ${said}`)
  const pieces = tokensMax === undefined ? all : all.slice(0, tokensMax)
  return { text: pieces.join(''), pieces, isCut: pieces.length < all.length }
}

/** Words with the space before them, long ones in pieces; no character is split. */
function split(text: string): readonly string[] {
  const pieces: string[] = []
  for (const word of text.match(/\s*\S+/g) ?? []) {
    const characters = Array.from(word)
    for (let start = 0; start < characters.length; start += tokenCharactersMax) {
      pieces.push(characters.slice(start, start + tokenCharactersMax).join(''))
    }
  }
  return pieces
}

/** Reads a list of messages in any of the dialects, with a system prompt beside it. */
export function readPrompt(messages: unknown, system?: unknown): Prompt {
  const total = { textBytes: 0, media: 0 }
  measure(system, total)
  measure(messages, total)
  const mediaTokens = total.media * imageTokens
  return {
    tokens: Math.max(1, Math.ceil(total.textBytes / 4)) + mediaTokens,
    mediaTokens,
    lastText: lastUserText(messages),
  }
}

/** Adds up the text of messages, contents and parts, and counts what is not text. */
function measure(value: unknown, total: { textBytes: number; media: number }): void {
  if (typeof value === 'string') {
    total.textBytes += Buffer.byteLength(value)
  } else if (isArray(value)) {
    for (const item of value) measure(item, total)
  } else if (isObject(value)) {
    const content = value['content'] ?? value['parts'] ?? value['text']
    if (content === undefined) total.media += 1
    else measure(content, total)
  }
}

function lastUserText(messages: unknown): string {
  if (typeof messages === 'string') return messages
  if (isObject(messages)) return textOf(messages)
  if (!isArray(messages)) return ''
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]
    if (typeof message === 'string') return message
    if (isObject(message) && (message['role'] ?? 'user') === 'user') return textOf(message)
  }
  return ''
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (isArray(value)) {
    return value
      .map(textOf)
      .filter(text => text !== '')
      .join(' ')
  }
  if (isObject(value)) return textOf(value['content'] ?? value['parts'] ?? value['text'])
  return ''
}
