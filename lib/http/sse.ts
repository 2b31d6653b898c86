const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20

interface LineEnd {
  readonly end: number
  /** Where the next line begins. */
  readonly next: number
}

/** One event with JSON for its data: line breaks, which JSON has between its tokens alone, become blanks. */
export function eventOf(json: Buffer): Buffer {
  const event = Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')])
  const end = event.length - 2
  for (const lineBreak of [lineFeed, carriageReturn]) {
    for (let at = event.indexOf(lineBreak); at !== -1 && at < end; at = event.indexOf(lineBreak, at + 1))
      event[at] = space
  }
  return event
}

/** Where a line of data is in its event. */
interface DataLine {
  readonly start: number
  readonly valueStart: number
  readonly end: number
  /** Where the next line begins. */
  readonly next: number
}

export interface EventFields {
  /** Empty where the stream gives none. */
  readonly name: string
  readonly data: Buffer
  /** The only line of data; undefined where there are several. */
  readonly line: DataLine | undefined
  /** Where the blank line begins, or the event ends that lacks it. */
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

/** The values of several lines of data with line feeds between them. An event may have millions of empty ones. */
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

/** The last of them may lack its end. */
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
export function* lineEnds(bytes: Buffer, from = 0): Generator<LineEnd, void> {
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
