import { JsonScanError, scanJson } from '../../http/json-scan.ts'
import type { Finding } from '../../http/json-scan.ts'
import { PieceList } from '../../http/piece-list.ts'
import { list, object, span } from '../interest.ts'
import { withoutNulls } from './null-usage.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const comma = 0x2c
const usageKey = Buffer.from('"usage"')
const dataField = Buffer.from('data:')
/** Events beyond this are passed on as they are: no chunk that has to be removed is as long. */
const heldBytesMax = 4 * 1_048_576
const nothing = Buffer.alloc(0)
const chunkInterest = object({ usage: span('usage'), choices: list(span('choice'), span('choices')) })

/**
 * Makes a chat stream what it would have been without the `include_usage` that the gateway added: the
 * chunk that holds nothing but the usage goes, and so does every `"usage":null`. All other bytes stay as
 * they came, and an event leaves as soon as it is whole.
 */
export class StreamRestorer {
  /** The event under way; only what comes is looked at, however finely it was cut. */
  readonly #held = new PieceList()
  #heldBytes = 0
  /** The line under way has no bytes yet. */
  #isLineEmpty = true
  /** What is held ends in a CR: its LF may come with the next chunk, and belongs to the event. */
  #isFeedDue = false
  #isPassing = false

  push(chunk: Buffer): Buffer {
    if (this.#isPassing || chunk.length === 0) return chunk
    if (this.#isLineEmpty && !this.#isFeedDue && this.#heldBytes === 0) {
      const restored = withoutNulls(chunk)
      if (restored !== undefined) return restored
    }
    const out: Buffer[] = []
    let eventStart = 0
    let lineStart = 0
    if (this.#isFeedDue) {
      lineStart = chunk[0] === lineFeed ? 1 : 0
      if (this.#isLineEmpty) eventStart = this.#endEvent(chunk.subarray(0, lineStart), out)
      this.#isFeedDue = false
      this.#isLineEmpty = true
    }
    for (const { end, next } of lineEnds(chunk, lineStart)) {
      const isEmpty = this.#isLineEmpty && end === lineStart
      this.#isFeedDue = next === chunk.length && chunk[end] === carriageReturn && next === end + 1
      if (this.#isFeedDue) {
        this.#isLineEmpty = isEmpty
        break
      }
      if (isEmpty) eventStart += this.#endEvent(chunk.subarray(eventStart, next), out)
      lineStart = next
      this.#isLineEmpty = true
    }
    if (!this.#isFeedDue && lineStart < chunk.length) this.#isLineEmpty = false
    this.#hold(chunk.subarray(eventStart))
    if (this.#heldBytes > heldBytesMax) {
      this.#isPassing = true
      out.push(...this.#held.take())
    }
    return join(out)
  }

  /** What is left when the stream has ended. */
  end(): Buffer {
    const out: Buffer[] = []
    if (!this.#isPassing) this.#endEvent(nothing, out)
    return join(out)
  }

  #hold(piece: Buffer): void {
    if (piece.length > 0) this.#held.push(piece)
    this.#heldBytes += piece.length
  }

  /** Answers how many bytes of the chunk were the last of the event. */
  #endEvent(piece: Buffer, out: Buffer[]): number {
    this.#hold(piece)
    take(out, join(this.#held.take()))
    this.#heldBytes = 0
    return piece.length
  }
}

interface LineEnd {
  readonly end: number
  readonly next: number
}

/** The ends of lines, CR, LF or both, each looked for once. */
function* lineEnds(bytes: Buffer, from: number): Generator<LineEnd, void> {
  let feed = bytes.indexOf(lineFeed, from)
  let carriage = bytes.indexOf(carriageReturn, from)
  while (feed !== -1 || carriage !== -1) {
    const end = carriage === -1 || (feed !== -1 && feed < carriage) ? feed : carriage
    const isPair = end === carriage && feed === end + 1
    const next = end + (isPair ? 2 : 1)
    yield { end, next }
    if (feed !== -1 && feed < next) feed = bytes.indexOf(lineFeed, next)
    if (carriage !== -1 && carriage < next) carriage = bytes.indexOf(carriageReturn, next)
  }
}

/** Appends an event as the client should see it. */
function take(out: Buffer[], event: Buffer): void {
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
  const look = ({ end, next }: LineEnd): boolean => {
    if (end === start) blankStart = start
    if (event.subarray(start, start + dataField.length).equals(dataField)) {
      if (found !== undefined) return false
      found = { start, valueStart: start + dataField.length, end, next, blankStart }
    }
    start = next
    return true
  }
  for (const line of lineEnds(event, 0)) if (!look(line)) return undefined
  const isWhole = start === event.length || look({ end: event.length, next: event.length })
  return isWhole && found !== undefined ? { ...found, blankStart } : undefined
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
