import { JsonScanError, scanJson } from '../../http/json-scan.ts'
import type { Finding } from '../../http/json-scan.ts'
import { EventSplitter } from '../../http/event-splitter.ts'
import { readEvent } from '../../http/sse.ts'
import { list, object, span } from '../interest.ts'
import { withoutNulls } from './null-usage.ts'

const comma = 0x2c
const usageKey = Buffer.from('"usage"')
/** Longer events are passed on as they come: no chunk that has to be removed is as long. */
const eventBytesMax = 4 * 1_048_576
const chunkInterest = object({ usage: span('usage'), choices: list(span('choice'), span('choices')) })

/**
 * Makes a chat stream what it would have been without the `include_usage` that the gateway added: the
 * chunk that holds nothing but the usage goes, and so does every `"usage":null`. All other bytes stay as
 * they came, and an event leaves as soon as it is whole.
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

  /** What is left when the stream has ended. */
  end(): Buffer {
    this.#events.end()
    return this.#take()
  }

  /** Puts out an event as the client should see it. */
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
