import { answerHeaders, headerValues, latin1Headers } from './headers.ts'

/**
 * Fields that say how a message is framed, routed, kept or read, or who may have it: a recipient has acted on
 * them before it sees a trailer, so they may not stand there (RFC 9110 section 6.5.1).
 */
const notInTrailers =
  /^(?:age|authorization|cache-control|content-.*|date|expires|host|location|max-forwards|pragma|retry-after|vary|warning|www-authenticate)$/i
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether a client reads trailers, as it says by `TE: trailers` (RFC 9110 section 10.1.4). */
function acceptsTrailers(rawRequestHeaders: readonly string[]): boolean {
  return headerValues(rawRequestHeaders, 'te').some(value =>
    value.split(',').some(coding => /^\s*trailers\s*(?:;|$)/i.test(coding)),
  )
}

/**
 * What goes on of an answer's trailers to a client with these headers; flat, undefined when there is nothing.
 * They are never made into headers.
 */
export function answerTrailers(
  raw: readonly Buffer[] | undefined,
  requestHeaders: readonly string[],
): string[] | undefined {
  if (raw === undefined || raw.length === 0 || !acceptsTrailers(requestHeaders)) return undefined
  const fields = answerHeaders(latin1Headers(raw))
  const passed: string[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const name = fields[index] as string
    const value = fields[index + 1] as string
    if (!notInTrailers.test(name) && fieldValue.test(value)) passed.push(name, value)
  }
  return passed.length > 0 ? passed : undefined
}
