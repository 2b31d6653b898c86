import { hash } from 'node:crypto'

const names: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key'])

/**
 * Request headers in which an idempotency key is the account's own. A provider gives the response to one request to
 * whoever repeats its key, and all accounts are one customer there.
 */
export function withOwnRepeats(headers: readonly string[], accountId: string | undefined): readonly string[] {
  if (accountId === undefined || !headers.some(isRepeatName)) return headers
  return headers.map((text, index) =>
    index % 2 === 1 && isRepeatName(headers[index - 1] as string, index - 1)
      ? hash('sha256', `${accountId} ${text}`, 'base64url')
      : text,
  )
}

function isRepeatName(text: string, index: number): boolean {
  return index % 2 === 0 && (text.length === 15 || text.length === 17) && names.has(text.toLowerCase())
}
