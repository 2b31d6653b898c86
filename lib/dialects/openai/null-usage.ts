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
  let restored: Buffer | undefined
  let length = 0
  /** What has been looked at and not copied. */
  let kept = 0
  let at = bytes.indexOf(usageName)
  for (let start = 0; start < bytes.length;) {
    const lineEnd = bytes.indexOf(lineFeed, start)
    if (lineEnd === -1 || bytes[lineEnd + 1] !== lineFeed) return undefined
    if (at !== -1 && at < lineEnd) {
      if (!isLastNull(bytes, start, at, lineEnd)) return undefined
      restored ??= Buffer.allocUnsafe(bytes.length)
      length += bytes.copy(restored, length, kept, at - 1)
      kept = at + member.length
      at = bytes.indexOf(usageName, kept)
      // Another of the same line.
      if (at !== -1 && at < lineEnd) return undefined
    }
    start = lineEnd + 2
  }
  if (restored === undefined) return bytes
  length += bytes.copy(restored, length, kept)
  return restored.subarray(0, length)
}

/** Whether the name at `at` is that of a last member, is null, and has nothing but padding behind it. */
function isLastNull(bytes: Buffer, start: number, at: number, lineEnd: number): boolean {
  if (bytes[at - 1] !== comma || bytes[lineEnd - 1] !== closeBrace) return false
  if (!isAt(bytes, start, eventStart) || !isAt(bytes, at, member)) return false
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
