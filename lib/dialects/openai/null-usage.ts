const lineFeed = 0x0a
const carriageReturn = 0x0d
const comma = 0x2c
const closeBrace = 0x7d
const quote = 0x22
const backslash = 0x5c
const eventStart = Buffer.from('data: {')
const usageName = Buffer.from('"usage"')
const member = Buffer.from('"usage":null')
const padding = Buffer.from(',"obfuscation":"')

/**
 * Events without the `"usage":null` that each of them ends in, as OpenAI and those who copied it write them: it is the
 * last member, or the last but `obfuscation`, of an object that ends with the event, and so needs no parsing to be known
 * for a member of the outermost. Undefined for bytes in which there is anything else, such as an event that goes on.
 */
export function withoutNulls(bytes: Buffer): Buffer | undefined {
  if (bytes.includes(carriageReturn)) return undefined
  const pieces: Buffer[] = []
  let start = 0
  while (start < bytes.length) {
    const lineEnd = bytes.indexOf(lineFeed, start)
    if (lineEnd === -1 || bytes[lineEnd + 1] !== lineFeed) return undefined
    const end = lineEnd + 2
    const at = bytes.indexOf(usageName, start)
    if (at === -1 || at > lineEnd) pieces.push(bytes.subarray(start, end))
    else {
      if (!isLastNull(bytes, start, at, lineEnd)) return undefined
      pieces.push(bytes.subarray(start, at - 1), bytes.subarray(at + member.length, end))
    }
    start = end
  }
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
}

/** Whether the name at `at` is that of the only usage of its line, is null, and has nothing but padding behind it. */
function isLastNull(bytes: Buffer, start: number, at: number, lineEnd: number): boolean {
  if (bytes[at - 1] !== comma || bytes[lineEnd - 1] !== closeBrace) return false
  if (!isAt(bytes, start, eventStart) || !isAt(bytes, at, member)) return false
  const another = bytes.indexOf(usageName, at + member.length)
  if (another !== -1 && another < lineEnd) return false
  const after = at + member.length
  return after === lineEnd - 1 || isPadding(bytes, after, lineEnd - 1)
}

/** `,"obfuscation":"..."`, and nothing more. */
function isPadding(bytes: Buffer, start: number, end: number): boolean {
  const textStart = start + padding.length
  if (textStart >= end || !isAt(bytes, start, padding) || bytes[end - 1] !== quote) return false
  for (let at = textStart; at < end - 1; at += 1) {
    if (bytes[at] === quote || bytes[at] === backslash) return false
  }
  return true
}

function isAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes[at + index] !== expected[index]) return false
  }
  return true
}
