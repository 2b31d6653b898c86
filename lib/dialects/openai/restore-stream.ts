import { JsonScanError, scanJson, type Finding } from '../../http/json-scan.ts'
import { EventSplitter, readEvent } from '../../http/event-splitter.ts'
import { list, object, span } from '../interest.ts'

const comma = 0x2c
const usageKey = Buffer.from('"usage"')
/** Longer events are passed on as they arrive: no chunk that must be removed is that long. */
const eventBytesMax = 4 * 1_048_576
const chunkInterest = object({ usage: span('usage'), choices: list(span('choice'), span('choices')) })

const lineFeed = 0x0a
const carriageReturn = 0x0d
const closeBrace = 0x7d
const quote = 0x22
const backslash = 0x5c
const eventStart = Buffer.from('data: {')
const usageName = Buffer.from('"usage"')
const member = Buffer.from('"usage":null')
const padding = Buffer.from(',"obfuscation":"')

/**
 * Restores a chat stream to what it would be without the `include_usage` that the gateway added: it removes the chunk
 * that contains only the usage, and every `"usage":null`. All other bytes are unchanged, and an event is sent on as
 * soon as it is complete.
 */
export class StreamRestorer {
  readonly #events = new EventSplitter(this, eventBytesMax)
  readonly #out: Buffer[] = []

  push(chunk: Buffer): Buffer {
    const restored = this.#events.isBetweenEvents ? withoutNulls(chunk) : undefined
    if (restored !== undefined) return restored
    this.#events.push(chunk)
    return this.#take()
  }

  /** The remaining bytes after the end of the stream. */
  end(): Buffer {
    this.#events.end()
    return this.#take()
  }

  /** Writes an event as the client should see it. */
  onEvent(event: Buffer): void {
    const fields = event.includes(usageKey) ? readEvent(event) : undefined
    const line = fields?.line
    const findings = line === undefined ? undefined : scanChunk(event.subarray(line.valueStart, line.end))
    const usage = findings?.find(finding => finding.name === 'usage')
    if (fields === undefined || line === undefined || findings === undefined || usage === undefined) {
      this.#out.push(event)
    } else if (usage.type === 'null') {
      const cut = memberAround(event, line.valueStart + usage.start, line.valueStart + usage.end)
      this.#out.push(event.subarray(0, cut.start), event.subarray(cut.end))
    } else if (hasNoChoices(findings)) {
      // Other lines of the event, which are comments, stay.
      this.#out.push(event.subarray(0, line.start), event.subarray(line.next, fields.linesEnd))
    } else {
      this.#out.push(event)
    }
  }

  onLongEvent(piece: Buffer): void {
    this.#out.push(piece)
  }

  #take(): Buffer {
    const pieces = this.#out.splice(0)
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }
}
function scanChunk(data: Buffer): readonly Finding[] | undefined {
  try {
    return scanJson(data, chunkInterest, { rejectDuplicates: false }).findings
  } catch (error) {
    if (error instanceof JsonScanError) return undefined
    throw error
  }
}

function hasNoChoices(findings: readonly Finding[]): boolean {
  const choices = findings.find(finding => finding.name === 'choices')
  return choices?.type === 'array' && !findings.some(finding => finding.name === 'choice')
}

/** The member with the value at this position, including the comma that separates it. */
function memberAround(event: Buffer, valueStart: number, valueEnd: number): { start: number; end: number } {
  const start = event.lastIndexOf(usageKey, valueStart)
  let before = start - 1
  while (isBlank(event[before])) before -= 1
  if (event[before] === comma) return { start: before, end: valueEnd }
  let after = valueEnd
  while (isBlank(event[after])) after += 1
  return { start, end: event[after] === comma ? after + 1 : valueEnd }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}

/**
 * Events without the `"usage":null` at the end of each, as OpenAI and its imitators write them: it is the last member,
 * or the last but `obfuscation`, of an object that ends with the event, so it is known to belong to the outermost
 * object without parsing. Undefined for bytes with anything else, such as an incomplete event.
 */
function withoutNulls(bytes: Buffer): Buffer | undefined {
  if (bytes.includes(carriageReturn)) return undefined
  let restored: Buffer | undefined
  let length = 0
  /** The start of the bytes that were checked and not yet copied. */
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
      // A second usage in the same line.
      if (at !== -1 && at < lineEnd) return undefined
    }
    start = lineEnd + 2
  }
  if (restored === undefined) return bytes
  length += bytes.copy(restored, length, kept)
  return restored.subarray(0, length)
}

/** Whether the name at `at` belongs to a last member, which is null and followed by padding only. */
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
