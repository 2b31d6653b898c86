import { JsonScanError, scanJson } from '../../http/json-scan.ts'
import type { Finding } from '../../http/json-scan.ts'
import { list, object, span } from '../interest.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const comma = 0x2c
const usageKey = Buffer.from('"usage"')
const dataField = Buffer.from('data:')
/** Events beyond this are passed on as they are: no chunk that has to be removed is as long. */
const heldBytesMax = 4 * 1_048_576
const chunkInterest = object({ usage: span('usage'), choices: list(span('choice'), span('choices')) })
const nothing = Buffer.alloc(0)

/**
 * Makes a chat stream what it would have been without the `include_usage` that the gateway added: the
 * chunk that holds nothing but the usage goes, and so does every `"usage":null`. All other bytes stay as
 * they came, and an event leaves as soon as it is whole.
 */
export class StreamRestorer {
  #held: Buffer = nothing
  /** Where in the held bytes the line under way begins. */
  #lineStart = 0
  #isPassing = false

  push(chunk: Buffer): Buffer {
    if (this.#isPassing) return chunk
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const out: Buffer[] = []
    let eventStart = 0
    let lineStart = this.#lineStart
    let nextFeed = bytes.indexOf(lineFeed, lineStart)
    let nextReturn = bytes.indexOf(carriageReturn, lineStart)
    while (nextFeed !== -1 || nextReturn !== -1) {
      const end = nextReturn === -1 || (nextFeed !== -1 && nextFeed < nextReturn) ? nextFeed : nextReturn
      // The feed of a CRLF may come with the next chunk, and belongs to the event.
      if (end === nextReturn && end === bytes.length - 1) break
      const isPair = end === nextReturn && nextFeed === end + 1
      const next = end + (isPair ? 2 : 1)
      if (end === lineStart) {
        take(out, bytes, eventStart, next)
        eventStart = next
      }
      lineStart = next
      if (nextFeed !== -1 && nextFeed < next) nextFeed = bytes.indexOf(lineFeed, next)
      if (nextReturn !== -1 && nextReturn < next) nextReturn = bytes.indexOf(carriageReturn, next)
    }
    this.#hold(bytes.subarray(eventStart), lineStart - eventStart, out)
    return join(out)
  }

  /** What is left when the stream has ended. */
  end(): Buffer {
    const out: Buffer[] = []
    take(out, this.#held, 0, this.#held.length)
    this.#held = nothing
    this.#lineStart = 0
    return join(out)
  }

  #hold(rest: Buffer, lineStart: number, out: Buffer[]): void {
    if (rest.length > heldBytesMax) {
      this.#isPassing = true
      out.push(rest)
      this.#held = nothing
      return
    }
    this.#held = rest
    this.#lineStart = lineStart
  }
}

/** Appends an event as the client should see it. */
function take(out: Buffer[], bytes: Buffer, start: number, end: number): void {
  const event = bytes.subarray(start, end)
  if (!event.includes(usageKey)) {
    out.push(event)
    return
  }
  const line = dataLine(event)
  const findings = line === undefined ? undefined : scanChunk(event.subarray(line.valueStart, line.end))
  const usage = findings?.find(finding => finding.name === 'usage')
  if (line === undefined || findings === undefined || usage === undefined) {
    out.push(event)
  } else if (usage.type === 'null') {
    const cut = memberAround(event, line.valueStart + usage.start, line.valueStart + usage.end)
    out.push(event.subarray(0, cut.start), event.subarray(cut.end))
  } else if (hasNoChoices(findings)) {
    // Other lines of the event, which are comments, stay.
    out.push(event.subarray(0, line.start), event.subarray(line.next, line.blankStart))
  } else {
    out.push(event)
  }
}

interface Line {
  readonly start: number
  readonly valueStart: number
  readonly end: number
  readonly next: number
  /** Where the blank line that ends the event begins. */
  readonly blankStart: number
}

/** The event's only line of data; undefined where there are several, which no provider sends. */
function dataLine(event: Buffer): Line | undefined {
  let found: Line | undefined
  let blankStart = event.length
  let start = 0
  while (start < event.length) {
    const end = lineEnd(event, start)
    const isPair = event[end] === carriageReturn && event[end + 1] === lineFeed
    const next = Math.min(event.length, end + (isPair ? 2 : 1))
    if (end === start) blankStart = start
    if (event[start] === dataField[0] && event.indexOf(dataField, start) === start) {
      if (found !== undefined) return undefined
      found = { start, valueStart: start + dataField.length, end, next, blankStart }
    }
    start = next
  }
  return found && { ...found, blankStart }
}

function lineEnd(event: Buffer, from: number): number {
  const feed = event.indexOf(lineFeed, from)
  const line = feed === -1 ? event : event.subarray(0, feed)
  const carriage = line.indexOf(carriageReturn, from)
  return carriage === -1 ? line.length : carriage
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

/** The member whose value stands there, with the comma that sets it apart. */
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

function join(parts: readonly Buffer[]): Buffer {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
