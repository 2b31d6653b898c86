interface PartHeaders {
  readonly name: string
  readonly filename?: string
  readonly contentType?: string
}

/** Some servers (Go's) decode other transfer encodings, most do not: the content would be ambiguous. */
const plainEncodings = new Set(['7bit', '8bit', 'binary'])

/** The properties of a body that decide how its parts' headers are read. */
interface PartKind {
  /** Parts of a body that is not a form have no names. */
  readonly isRelated: boolean
  readonly lineBreak: string
}

type MultipartReason = 'boundary_missing' | 'cut_off' | 'malformed' | 'too_many_parts'

/** Why a form was refused. The message may be shown to the caller. */
export class MultipartError extends Error {
  readonly reason: MultipartReason
  /** The offset in the body at which the scan stopped. */
  readonly offset: number

  constructor(reason: MultipartReason, offset: number, message: string) {
    super(message)
    this.name = 'MultipartError'
    this.reason = reason
    this.offset = offset
  }
}

/**
 * Reads the headers of one part. `offset` is where they start, for messages.
 * @throws MultipartError malformed
 */
export function readPartHeaders(
  text: string,
  offset: number,
  { isRelated, lineBreak }: PartKind,
): PartHeaders {
  const seen = headersIn(text.split(lineBreak), offset)
  const encoding = seen.get('content-transfer-encoding')?.toLowerCase()
  if (encoding !== undefined && !plainEncodings.has(encoding)) {
    throw malformed(
      offset,
      `has the transfer encoding ${JSON.stringify(encoding.slice(0, 40))}; send it as it is`,
    )
  }
  if (isRelated && (seen.get('content-encoding') ?? 'identity') !== 'identity')
    throw malformed(offset, 'is compressed; send it as it is')
  const contentType = seen.get('content-type')
  const named = isRelated ? { name: '' } : disposition(seen.get('content-disposition'), offset)
  if (!isRelated && !isUtf8Field(named, contentType))
    throw malformed(offset, 'has a charset that is not UTF-8, or names one for others')
  return { ...named, ...(contentType !== undefined && { contentType }) }
}

/** Some servers read the text of a field in its charset, others in that of a field `_charset_` (RFC 7578). */
function isUtf8Field(
  { name, filename }: { readonly name: string; readonly filename?: string },
  contentType: string | undefined,
): boolean {
  if (name.toLowerCase() === '_charset_') return false
  if (filename !== undefined || contentType === undefined) return true
  const parameters = parseParameters(contentType)?.parameters
  return parameters !== undefined && isUtf8(parameters)
}

function headersIn(lines: readonly string[], offset: number): ReadonlyMap<string, string> {
  const seen = new Map<string, string>()
  for (const line of lines) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    if (!/^[\w-]+$/.test(name)) throw malformed(offset, 'has a header without a name')
    if (/[\r\n\0]/.test(line)) throw malformed(offset, 'has a stray line break or NUL in its headers')
    if (seen.has(name)) throw malformed(offset, `has ${name} twice`)
    seen.set(name, withoutBlanks(line.slice(colon + 1)))
  }
  return seen
}

function disposition(header: string | undefined, offset: number): { name: string; filename?: string } {
  if (header === undefined) throw malformed(offset, 'has no Content-Disposition')
  const parsed = parseParameters(header)
  if (parsed?.value !== 'form-data')
    throw malformed(offset, 'has a Content-Disposition that is not form-data')
  const name = parsed.parameters.get('name')
  if (name === undefined) throw malformed(offset, 'has no name')
  // Parsers differ on whether a backslash is an escape.
  if (/["\\]/.test(name)) throw malformed(offset, 'has a quote or a backslash in its name')
  const isPatched = isInPieces(parsed.parameters, 'filename')
  if (isPatched || /"\s*;/.test(parsed.parameters.get('filename') ?? ''))
    throw malformed(offset, 'has an unclear filename')
  // RFC 7578 forbids `name*`.
  if (parsed.parameters.has('name*') || isInPieces(parsed.parameters, 'name'))
    throw malformed(offset, 'has an encoded name')
  const extended = parsed.parameters.get('filename*')
  const filename =
    extended === undefined ? parsed.parameters.get('filename') : decodeExtended(extended, offset)
  return { name, ...(filename !== undefined && { filename }) }
}

/** RFC 8187: `UTF-8'en'%e2%82%ac`. */
function decodeExtended(value: string, offset: number): string {
  const [charset = '', , encoded] = value.split("'")
  if (charset.toLowerCase() !== 'utf-8' || encoded === undefined)
    throw malformed(offset, 'has a filename* that is not UTF-8')
  try {
    return decodeURIComponent(encoded)
  } catch (cause) {
    throw malformed(offset, 'has a filename* that does not decode', cause)
  }
}

function malformed(offset: number, what: string, cause?: unknown): MultipartError {
  const error = new MultipartError('malformed', offset, `The part of the form at byte ${offset} ${what}.`)
  if (cause !== undefined) error.cause = cause
  return error
}

/** A header such as `form-data; name="x"`: its value, and its parameters by lower-case name. */
interface ParameterisedValue {
  /** Lower-case. */
  readonly value: string
  readonly parameters: ReadonlyMap<string, string>
}

const token = /[!#$%&'*+\-.^`|~\w]+/y
const separator = /[ \t]*;[ \t]*/y
const quoted = /"((?:[^"\\]|\\.)*)"/y
const bare = /[^\s;",]+/y

/** Without the white space of RFC 9110. `trim` also removes a byte order mark and others, which parsers keep. */
function withoutBlanks(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

/**
 * Reads a value with parameters (RFC 9110 section 5.6.6). Undefined when it is malformed or has a parameter twice,
 * because parsers differ on which one counts.
 */
export function parseParameters(header: string): ParameterisedValue | undefined {
  const text = withoutBlanks(header)
  const semicolon = text.indexOf(';')
  if (semicolon === -1) return { value: text.toLowerCase(), parameters: new Map() }
  const parameters = new Map<string, string>()
  let position = withoutBlanks(text.slice(0, semicolon)).length
  const value = text.slice(0, position).toLowerCase()
  while (position < text.length) {
    const between = take(separator, text, position)
    if (between === undefined) return undefined
    position += between.length
    if (position === text.length) break
    const name = take(token, text, position)
    if (name === undefined || text[position + name.length] !== '=') return undefined
    position += name.length + 1
    const spelled = take(quoted, text, position) ?? take(bare, text, position)
    if (spelled === undefined || parameters.has(name.toLowerCase())) return undefined
    parameters.set(name.toLowerCase(), spelled.startsWith('"') ? unquote(spelled) : spelled)
    position += spelled.length
  }
  return { value, parameters }
}

/** Whether no parameter declares another charset than UTF-8. */
export function isUtf8(parameters: ReadonlyMap<string, string>): boolean {
  const isEncoded = parameters.has('charset*') || isInPieces(parameters, 'charset')
  return !isEncoded && /^(?:utf-?8|us-ascii)$/i.test(parameters.get('charset') ?? 'utf-8')
}

/** Some parsers join `name*0`, `name*1` and use the result instead of `name` (RFC 2231). */
export function isInPieces(parameters: ReadonlyMap<string, string>, name: string): boolean {
  return [...parameters.keys()].some(key => key.startsWith(`${name}*`) && key.length > name.length + 1)
}

function take(pattern: RegExp, text: string, position: number): string | undefined {
  pattern.lastIndex = position
  return pattern.exec(text)?.[0]
}

/** Only quotes and backslashes are escaped; other backslashes are those of Windows paths in filenames. */
function unquote(spelled: string): string {
  const inner = spelled.slice(1, -1)
  return inner.includes('\\') ? inner.replace(/\\(["\\])/g, '$1') : inner
}
