import { parseParameters } from './header-parameters.ts'
import { readPartHeaders } from './multipart-headers.ts'
import { MultipartError } from './multipart-error.ts'

export { MultipartError }

/** One part of a multipart body. Offsets are into the body. */
export interface MultipartPart {
  readonly name: string
  readonly filename?: string
  readonly contentType?: string
  readonly start: number
  readonly end: number
}

/** A form's parts, in order. */
export interface MultipartResult {
  readonly parts: readonly MultipartPart[]
}

interface MultipartOptions {
  /** 1000. */
  readonly partsMax?: number
}

/** RFC 2046 says 70; some clients are longer. */
const boundaryCharactersMax = 200
const headerBytesMax = 16_384
const carriageReturn = 0x0d
const lineFeed = 0x0a
const dash = 0x2d
const headersEnd = Buffer.from('\r\n\r\n')

/** The boundary of a `multipart/form-data` content type; undefined for any other, or without a usable one. */
export function multipartBoundary(contentType: string): string | undefined {
  const parsed = parseParameters(contentType)
  if (parsed?.value !== 'multipart/form-data') return undefined
  const boundary = parsed.parameters.get('boundary')
  if (boundary === undefined || boundary.length > boundaryCharactersMax) return undefined
  return /^[\x20-\x7e]*[\x21-\x7e]$/.test(boundary) ? boundary : undefined
}

/** The parts of a field; a name may come more than once. */
export function partsByName(result: MultipartResult, name: string): readonly MultipartPart[] {
  return result.parts.filter(part => part.name === name)
}

/**
 * Finds the parts of a form (RFC 7578) without copying them. Whatever parsers read differently is refused,
 * so that the provider sees the same parts.
 * @throws MultipartError
 */
export function scanMultipart(
  body: Buffer,
  boundary: string,
  options: MultipartOptions = {},
): MultipartResult {
  const partsMax = options.partsMax ?? 1000
  const needle = Buffer.from(`\n--${boundary}`)
  const parts: MultipartPart[] = []
  let at = nextBoundary(body, needle, 0)
  if (at === -1) {
    throw new MultipartError(
      'boundary_missing',
      0,
      'The body does not hold the boundary that its content type names.',
    )
  }
  for (;;) {
    const afterBoundary = at + needle.length - 1
    if (body[afterBoundary] === dash && body[afterBoundary + 1] === dash) {
      lineEnd(body, afterBoundary + 2, true)
      return { parts }
    }
    if (parts.length >= partsMax) {
      throw new MultipartError('too_many_parts', at, `The form has more than ${partsMax} parts. Send fewer.`)
    }
    const headersStart = lineEnd(body, afterBoundary, false)
    const start = contentStart(body, headersStart)
    at = nextBoundary(body, needle, start)
    if (at === -1) throw cutOff(body)
    const headers = readPartHeaders(body.toString('utf8', headersStart, start), headersStart)
    parts.push({ ...headers, start, end: at - 2 })
  }
}

/** The next boundary that begins a line: where its dashes stand. */
function nextBoundary(body: Buffer, needle: Buffer, from: number): number {
  if (from === 0 && body.subarray(0, needle.length - 1).equals(needle.subarray(1))) return 0
  // From the line break that ends the headers on: some parsers take a boundary right behind it.
  const lineBreak = body.indexOf(needle, Math.max(0, from - 1))
  if (lineBreak === -1) return -1
  if (body[lineBreak - 1] === carriageReturn && lineBreak > from) return lineBreak + 1
  throw new MultipartError('malformed', lineBreak, 'A boundary stands without a CR LF of its own before it.')
}

/** The start of the next line, after the padding that RFC 2046 allows behind a boundary. */
function lineEnd(body: Buffer, from: number, isLast: boolean): number {
  let position = from
  while (body[position] === 0x20 || body[position] === 0x09) position++
  if (position >= body.length) {
    if (isLast) return position
    throw cutOff(body)
  }
  if (body[position] === carriageReturn) {
    if (body[position + 1] === lineFeed) return position + 2
    if (position + 1 >= body.length) throw cutOff(body)
  }
  if (body[position] === dash && position + 1 === body.length) throw cutOff(body)
  // RFC 2046 lets a longer line count as the boundary; parsers disagree, so it is refused.
  throw new MultipartError(
    'malformed',
    position,
    'A line begins with the boundary and goes on. Choose another.',
  )
}

function contentStart(body: Buffer, headersStart: number): number {
  if (body[headersStart] === carriageReturn && body[headersStart + 1] === lineFeed) return headersStart + 2
  const window = body.subarray(headersStart, headersStart + headerBytesMax)
  const end = window.indexOf(headersEnd)
  if (end !== -1) return headersStart + end + headersEnd.length
  if (window.length < headerBytesMax) throw cutOff(body)
  throw new MultipartError('malformed', headersStart, `The headers of a part exceed ${headerBytesMax} bytes.`)
}

function cutOff(body: Buffer): MultipartError {
  return new MultipartError(
    'cut_off',
    body.length,
    'The form ends before its closing boundary. Send the whole body.',
  )
}
