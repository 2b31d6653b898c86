const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20

interface SseOptions {
  /** Events longer than this are skipped and counted; 32 MB unless said. */
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
  #pieces: Buffer[] = []
  #event = ''
  #data: Buffer[] = []
  /** Bytes held for the event under way. */
  #heldBytes = 0
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
    return this.#pieces.length === 0 && this.#data.length === 0 && this.#event === '' && !this.#isSkipping
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
    if (this.#pieces.length > 0) this.#endLine(Buffer.alloc(0), 0, 0)
    this.#endEvent()
  }

  #hold(piece: Buffer): void {
    this.#pieces.push(piece)
    if (this.#isSkipping) this.#pieces.length = 1
    else this.#count(piece.length)
  }

  #count(bytes: number): void {
    this.#heldBytes += bytes
    if (this.#isSkipping || this.#heldBytes <= this.#eventBytesMax) return
    this.#isSkipping = true
    this.#oversizedCount += 1
    this.#data = []
    this.#pieces.length = Math.min(this.#pieces.length, 1)
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#pieces.length === 0) {
      this.#readLine(chunk, start, end)
      return
    }
    // While an event is skipped the pieces are only a sign that the line is not blank.
    const pieces = this.#pieces
    this.#pieces = []
    if (this.#isSkipping) return
    for (const piece of pieces) this.#heldBytes -= piece.length
    pieces.push(chunk.subarray(start, end))
    const line = Buffer.concat(pieces)
    this.#readLine(line, 0, line.length)
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
      const from = valueStart(bytes, start + 4, end)
      this.#count(end - from)
      if (!this.#isSkipping) this.#data.push(bytes.subarray(from, end))
    } else if (isField(bytes, start, end, 'event')) {
      this.#event = bytes.toString('utf8', valueStart(bytes, start + 5, end), end)
    }
  }

  #endEvent(): void {
    const data = this.#data
    const event = this.#event
    this.#event = ''
    this.#heldBytes = 0
    this.#isSkipping = false
    if (data.length === 0) return
    this.#data = []
    const first = data[0]
    this.#onEvent(event, data.length === 1 && first !== undefined ? first : joinLines(data))
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

function joinLines(lines: readonly Buffer[]): Buffer {
  const parts: Buffer[] = []
  for (const line of lines) {
    if (parts.length > 0) parts.push(Buffer.from('\n'))
    parts.push(line)
  }
  return Buffer.concat(parts)
}
