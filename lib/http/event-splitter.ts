import { PieceList } from './piece-list.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const noBytes = Buffer.alloc(0)
/** Two line ends of two bytes each show whether an event has ended, whatever precedes them. */
const tellingBytes = 4

/** The splitter's position in a stream. */
const places = { betweenEvents: 0, lineStart: 1, inLine: 2 } as const

interface EventSink {
  /** A whole event with its blank line, which the last event of a stream may lack. */
  onEvent(event: Buffer): void
  /** A piece of an event that is too long to be kept, as received. */
  onLongEvent(piece: Buffer): void
}

/**
 * Finds the ends of the events of a stream (WHATWG HTML, 9.2.5), whatever the chunks and the line ends. An event within
 * one chunk is passed on without a copy. A CR at the end of a chunk may be half of a line end, so its event waits for
 * the next chunk.
 */
export class EventSplitter {
  readonly #sink: EventSink | undefined
  readonly #eventBytesMax: number
  /** The current event; each byte is scanned once, however finely the stream was cut. */
  #held: PieceList | undefined
  #heldBytes = 0
  /** The current event is too long, and passed on as it arrives. */
  #isLong = false
  #place: (typeof places)[keyof typeof places] = places.betweenEvents
  /** The last byte was a CR, whose line end may include an LF. */
  #isFeedDue = false

  /**
   * @param sink absent where bytes are followed and not split
   * @param eventBytesMax longer events are not kept until they are complete
   */
  constructor(sink?: EventSink, eventBytesMax = 0) {
    this.#sink = sink
    this.#eventBytesMax = eventBytesMax
  }

  /** Whether the stream is between events, so that another event may be inserted. */
  get isBetweenEvents(): boolean {
    return this.#place === places.betweenEvents && !this.#isFeedDue
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return
    let lineStart = 0
    let eventStart = 0
    if (this.#isFeedDue) {
      this.#isFeedDue = false
      if (bytes[0] === lineFeed) lineStart = 1
      if (this.isBetweenEvents) eventStart = this.#endEvent(bytes, 0, lineStart)
    }
    for (const { end, next } of lineEnds(bytes, lineStart)) {
      this.#endLine(end > lineStart)
      this.#isFeedDue = next === bytes.length && bytes[next - 1] === carriageReturn
      if (this.isBetweenEvents) eventStart = this.#endEvent(bytes, eventStart, next)
      lineStart = next
    }
    if (lineStart < bytes.length) this.#place = places.inLine
    this.#hold(bytes, eventStart, bytes.length)
  }

  /** Reads bytes that are not to be split, to know whether an event ends with them. */
  follow(bytes: Buffer): void {
    if (bytes.length >= tellingBytes) {
      this.#place = places.inLine
      this.#isFeedDue = false
    }
    for (let at = Math.max(0, bytes.length - tellingBytes); at < bytes.length; at += 1) {
      const byte = bytes[at]
      const isPair = byte === lineFeed && this.#isFeedDue
      this.#isFeedDue = byte === carriageReturn
      if (byte !== lineFeed && byte !== carriageReturn) this.#place = places.inLine
      else if (!isPair) this.#endLine(false)
    }
  }

  /** Passes on what is left at the end of the stream. */
  end(): void {
    if (this.#heldBytes > 0) this.#endEvent(noBytes, 0, 0)
  }

  /** @param hasBytes this chunk has bytes of the line that ends; earlier chunks may have some too */
  #endLine(hasBytes: boolean): void {
    const isBlank = !hasBytes && this.#place !== places.inLine
    this.#place = isBlank ? places.betweenEvents : places.lineStart
  }

  /** @returns where the next event starts */
  #endEvent(bytes: Buffer, start: number, end: number): number {
    if (this.#heldBytes === 0 && !this.#isLong && end - start <= this.#eventBytesMax) {
      this.#sink?.onEvent(part(bytes, start, end))
      return end
    }
    this.#hold(bytes, start, end)
    if (this.#isLong) this.#isLong = false
    else this.#sink?.onEvent(Buffer.concat(this.#takeHeld()))
    return end
  }

  #hold(bytes: Buffer, start: number, end: number): void {
    if (start === end) return
    this.#held ??= new PieceList()
    this.#held.push(part(bytes, start, end))
    this.#heldBytes += end - start
    if (!this.#isLong && this.#heldBytes <= this.#eventBytesMax) return
    this.#isLong = true
    for (const piece of this.#takeHeld()) this.#sink?.onLongEvent(piece)
  }

  #takeHeld(): readonly Buffer[] {
    this.#heldBytes = 0
    return this.#held?.take() ?? []
  }
}

function part(bytes: Buffer, start: number, end: number): Buffer {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}

interface LineEnd {
  readonly end: number
  /** Where the next line starts. */
  readonly next: number
}

/** An event with JSON as its data: line breaks, which JSON has only between tokens, become spaces. */
export function eventOf(json: Buffer): Buffer {
  const event = Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')])
  const end = event.length - 2
  for (const lineBreak of [lineFeed, carriageReturn]) {
    for (let at = event.indexOf(lineBreak); at !== -1 && at < end; at = event.indexOf(lineBreak, at + 1))
      event[at] = space
  }
  return event
}

/** The position of a data line in its event. */
interface DataLine {
  readonly start: number
  readonly valueStart: number
  readonly end: number
  /** Where the next line starts. */
  readonly next: number
}

export interface EventFields {
  /** Empty where the stream gives none. */
  readonly name: string
  readonly data: Buffer
  /** The only data line; undefined where there are several. */
  readonly line: DataLine | undefined
  /** Where the blank line starts, or the end of an event without one. */
  readonly linesEnd: number
}

/** Reads an event (WHATWG HTML, 9.2.6); undefined for one without data. Data of a single line is not copied. */
export function readEvent(event: Buffer): EventFields | undefined {
  let name = ''
  let only: DataLine | undefined
  let lineCount = 0
  let linesEnd = event.length
  for (const { start, end, next } of linesOf(event)) {
    if (isField(event, start, end, 'data')) {
      only = { start, valueStart: valueStart(event, start + 4, end), end, next }
      lineCount += 1
    } else if (start === end) {
      linesEnd = start
    } else if (isField(event, start, end, 'event')) {
      name = event.toString('utf8', valueStart(event, start + 5, end), end)
    }
  }
  if (only === undefined) return undefined
  if (lineCount > 1) return { name, data: joinedData(event), line: undefined, linesEnd }
  return { name, data: event.subarray(only.valueStart, only.end), line: only, linesEnd }
}

/** The values of several data lines joined by line feeds. An event may have millions of empty ones. */
function joinedData(event: Buffer): Buffer {
  const data = Buffer.allocUnsafe(event.length)
  let length = 0
  for (const { start, end } of linesOf(event)) {
    if (!isField(event, start, end, 'data')) continue
    length += event.copy(data, length, valueStart(event, start + 4, end), end)
    data[length] = lineFeed
    length += 1
  }
  return data.subarray(0, length - 1)
}

interface Line {
  readonly start: number
  readonly end: number
  readonly next: number
}

/** The last line may lack its end. */
function* linesOf(event: Buffer): Generator<Line, void> {
  let start = 0
  for (const { end, next } of lineEnds(event)) {
    yield { start, end, next }
    start = next
  }
  if (start < event.length) yield { start, end: event.length, next: event.length }
}

function isField(bytes: Buffer, start: number, end: number, name: 'data' | 'event'): boolean {
  const nameEnd = start + name.length
  if (nameEnd > end || (nameEnd < end && bytes[nameEnd] !== colon)) return false
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + index] !== name.charCodeAt(index)) return false
  }
  return true
}

function valueStart(bytes: Buffer, nameEnd: number, end: number): number {
  if (nameEnd >= end) return end
  const afterColon = nameEnd + 1
  return afterColon < end && bytes[afterColon] === space ? afterColon + 1 : afterColon
}

/** The ends of lines: CR, LF or both. Each is searched for once. */
function* lineEnds(bytes: Buffer, from = 0): Generator<LineEnd, void> {
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
