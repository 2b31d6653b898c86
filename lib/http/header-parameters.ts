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

/** Without the blanks of RFC 9110 around it. `trim` also takes a byte order mark and others, which parsers keep. */
export function withoutBlanks(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

/**
 * Reads a value with parameters (RFC 9110 section 5.6.6). Undefined when it is malformed or has a parameter
 * twice, because parsers differ on which one counts.
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

/** Whether nothing says that a text is in anything but UTF-8. */
export function isUtf8(parameters: ReadonlyMap<string, string>): boolean {
  const isEncoded = parameters.has('charset*') || isInPieces(parameters, 'charset')
  return !isEncoded && /^(?:utf-?8|us-ascii)$/i.test(parameters.get('charset') ?? 'utf-8')
}

/** Some parsers put `name*0`, `name*1` together, in place of `name` (RFC 2231). */
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
