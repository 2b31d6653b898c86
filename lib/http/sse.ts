import { PieceList } from './piece-list.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const lineEnd = Buffer.from('\n')
const nothing = Buffer.alloc(0)

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

interface SseOptions {
  /** Events longer than this, with all that is no data, are skipped and counted; 32 MB unless said. */
  readonly eventBytesMax?: number
}

/**
 * Reads an event stream (WHATWG HTML, 9.2) from bytes, whatever the chunks. An event that lies within one
 * chunk is handed over without a copy. The event's name is empty where the stream gives none.
 */
export class SseParser {
  readonly #onEvent: (event: string, data: Buffer) => void
  readonly #eventBytesMax: number
  /** The line under way, where a chunk ended inside it. */
  readonly #line = new PieceList()
  #isInLine = false
  #event = ''
  readonly #data = new PieceList()
  /** Bytes of the event under way. Those of comments count too: the chunks they came in are held with its data. */
  #eventBytes = 0
  #isSkipping = false
  #isFirstLine = true
  #isLineFeedDue = false
  #oversizedCount = 0

  constructor(onEvent: (event: string, data: Buffer) => void, options: SseOptions = {}) {
    this.#onEvent = onEvent
    this.#eventBytesMax = options.eventBytesMax ?? 32 * 1_048_576
  }

  /** No event is under way: another one may be appended here. */
  get isAtBoundary(): boolean {
    return !this.#isInLine && this.#data.pieces.length === 0 && this.#event === '' && !this.#isSkipping
  }

  /** Events skipped because they were too long. */
  get oversizedCount(): number {
    return this.#oversizedCount
  }

  push(chunk: Buffer): void {
    let position = 0
    // A CRLF split between two chunks is one line end, which the CR has already made.
    if (this.#isLineFeedDue && chunk.length > 0) {
      this.#isLineFeedDue = false
      if (chunk[0] === lineFeed) position = 1
    }
    let nextFeed = chunk.indexOf(lineFeed, position)
    let nextReturn = chunk.indexOf(carriageReturn, position)
    while (nextFeed !== -1 || nextReturn !== -1) {
      const end = nextReturn === -1 || (nextFeed !== -1 && nextFeed < nextReturn) ? nextFeed : nextReturn
      this.#endLine(chunk, position, end)
      position = end + 1
      if (end === nextReturn) {
        if (position === nextFeed) position += 1
        else if (position === chunk.length) this.#isLineFeedDue = true
        nextReturn = chunk.indexOf(carriageReturn, position)
      }
      if (nextFeed !== -1 && nextFeed < position) nextFeed = chunk.indexOf(lineFeed, position)
    }
    if (position < chunk.length) this.#hold(position === 0 ? chunk : chunk.subarray(position))
  }

  /** Hands over a last event that lacks its blank line. */
  end(): void {
    if (this.#isInLine) this.#endLine(nothing, 0, 0)
    this.#endEvent()
  }

  #hold(piece: Buffer): void {
    this.#isInLine = true
    this.#count(piece.length)
    if (!this.#isSkipping) this.#line.push(piece)
  }

  #count(bytes: number): void {
    this.#eventBytes += bytes
    if (this.#isSkipping || this.#eventBytes <= this.#eventBytesMax) return
    this.#isSkipping = true
    this.#oversizedCount += 1
    this.#data.take()
    this.#line.take()
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    this.#count(end - start)
    if (!this.#isInLine) {
      this.#readLine(chunk, start, end)
      return
    }
    this.#isInLine = false
    const line = this.#line.take()
    if (this.#isSkipping) return
    line.push(chunk.subarray(start, end))
    const bytes = Buffer.concat(line)
    this.#readLine(bytes, 0, bytes.length)
  }

  #readLine(bytes: Buffer, lineStart: number, end: number): void {
    let start = lineStart
    if (this.#isFirstLine) {
      this.#isFirstLine = false
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3
    }
    if (start >= end) {
      this.#endEvent()
    } else if (isField(bytes, start, end, 'data')) {
      if (!this.#isSkipping) this.#addData(bytes.subarray(valueStart(bytes, start + 4, end), end))
    } else if (isField(bytes, start, end, 'event')) {
      this.#event = bytes.toString('utf8', valueStart(bytes, start + 5, end), end)
    }
  }

  #addData(line: Buffer): void {
    if (this.#data.pieces.length > 0) this.#data.push(lineEnd)
    this.#data.push(line)
  }

  #endEvent(): void {
    const event = this.#event
    this.#event = ''
    this.#eventBytes = 0
    this.#isSkipping = false
    if (this.#data.pieces.length === 0) return
    const data = this.#data.take()
    const [first] = data
    this.#onEvent(event, data.length === 1 && first !== undefined ? first : Buffer.concat(data))
  }
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
