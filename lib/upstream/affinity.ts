import type { Exchange } from '../pipeline/exchange.ts'
import { hashText } from './rendezvous.ts'

/** Headers by which coding tools tell their sessions apart: Claude Code, Codex. */
const sessionHeaders = [
  'x-claude-code-session-id',
  'session_id',
  'session-id',
  'conversation_id',
  'x-session-id',
] as const

/**
 * Where the part of a body begins that stays the same while a conversation grows. Providers cache prompts of
 * a thousand tokens and more, so its first thousand bytes are enough to know it again.
 */
const beginnings = [
  '"system"',
  '"systemInstruction"',
  '"system_instruction"',
  '"instructions"',
  '"messages"',
  '"contents"',
  '"input"',
]
const prefixBytes = 1024
const keyTextMax = 512

/**
 * What should stay with one credential, since a provider's cache of prompts belongs to an account there: the
 * same `prompt_cache_key`, session, `metadata.user_id` or beginning of a conversation. It is a preference
 * and nothing more, so the body is searched and not parsed.
 */
export function affinityHash(exchange: Exchange): number {
  const account = exchange.find('key')?.accountId ?? ''
  // Of a body in a file, its first bytes: what tells conversations apart stands there nearly always.
  const body = exchange.find('body')?.head
  const { headers } = exchange.request
  const cacheKey = body === undefined ? undefined : stringMember(body, '"prompt_cache_key"')
  if (cacheKey !== undefined) return hashText(`${account} cache ${cacheKey}`)
  for (const name of sessionHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '')
      return hashText(`${account} session ${value.slice(0, keyTextMax)}`)
  }
  if (body === undefined || body.length === 0) return hashText(account)
  const metadata = body.indexOf('"metadata"')
  const userId = metadata === -1 ? undefined : stringMember(body.subarray(metadata), '"user_id"')
  return hashText(userId === undefined ? `${account} prefix ${prefixOf(body)}` : `${account} user ${userId}`)
}

function prefixOf(body: Buffer): string {
  for (const beginning of beginnings) {
    const start = body.indexOf(beginning)
    if (start !== -1) return body.toString('latin1', start, start + prefixBytes)
  }
  return body.toString('latin1', 0, prefixBytes)
}

/** The raw text of the first member with this name whose value is a string. */
function stringMember(body: Buffer, quotedName: string): string | undefined {
  const start = body.indexOf(quotedName)
  if (start === -1) return undefined
  const after = start + quotedName.length
  const text = body.toString('latin1', after, after + keyTextMax)
  return /^\s*:\s*"((?:[^"\\]|\\.)+)/.exec(text)?.[1]
}
