import { headerValue } from '../http/headers.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'
import { errorFields, retryDelayMs } from './error-fields.ts'
import { isAboutCountry, isAboutCredential } from './refusal-table.ts'

/** What an error answer means to whoever chooses where the next request goes. */
export type Verdict =
  | { readonly about: 'credential'; readonly code: string }
  | { readonly about: 'country'; readonly code: string }
  | { readonly about: 'rate'; readonly waitMs: number }
  | { readonly about: 'request' }

/** How long a credential rests after a 429 that says nothing of it. */
const waitMsDefault = 5_000
const waitMsMax = 600_000

const aboutRequest: Verdict = { about: 'request' }

/** Statuses whose body is read before it is passed on; the others go through as they come. */
const judgedStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 429])

export function isJudged(status: number): boolean {
  return judgedStatuses.has(status)
}

/** Reads an error answer with its whole body. */
export function judgeRefusal(providerKind: string, { status, headers }: ResponseHead, body: Buffer): Verdict {
  if (!isJudged(status)) return aboutRequest
  const fields = errorFields(status, headers, body)
  const code = fields.code || fields.reasons[0] || fields.type || String(status)
  if (isAboutCountry(fields)) return { about: 'country', code: fields.code || fields.state }
  if (isAboutCredential(providerKind, fields)) return { about: 'credential', code }
  if (status === 429) return { about: 'rate', waitMs: waitOf(headers, body) }
  return aboutRequest
}

function waitOf(headers: readonly string[], body: Buffer): number {
  const ms = Number(headerValue(headers, 'retry-after-ms') ?? Number.NaN)
  const seconds = Number(headerValue(headers, 'retry-after') ?? Number.NaN)
  const wait = Number.isFinite(ms)
    ? ms
    : Number.isFinite(seconds)
      ? seconds * 1000
      : retryDelayMs(headers, body)
  return Math.min(waitMsMax, Math.max(0, wait ?? waitMsDefault))
}
