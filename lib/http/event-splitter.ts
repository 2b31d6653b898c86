import { lineEnds } from './sse.ts'
import { PieceList } from './piece-list.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const noBytes = Buffer.alloc(0)
/** Two line ends of two bytes each show whether an event has ended, whatever is before them. */
const tellingBytes = 4

/** Where in a stream the splitter is. */
const places = { betweenEvents: 0, lineStart: 1, inLine: 2 } as const

interface EventSink {
  /** A whole event with the blank line behind it, which the last event of a stream may lack. */
  onEvent(event: Buffer): void
  /** A piece of an event that is longer than is kept, as it came. */
  onLongEvent(piece: Buffer): void
}

/**
 * Finds the ends of the events of a stream (WHATWG HTML, 9.2.5), whatever the chunks and the line ends. An event that
 * lies within one chunk is passed on without a copy. A CR at the end of a chunk may be half of a line end, so its event
 * waits for the next chunk.
 */
export class EventSplitter {
  readonly #sink: EventSink | undefined
  readonly #eventBytesMax: number
  /** The event under way; each byte is looked at once, however finely it was cut. */
  #held: PieceList | undefined
  #heldBytes = 0
  /** The event under way is too long, and passed on as it comes. */
  #isLong = false
  #place: (typeof places)[keyof typeof places] = places.betweenEvents
  /** The last byte was a CR, to whose line end an LF may belong. */
  #isFeedDue = false

  /**
   * @param sink absent where bytes are followed and not split
   * @param eventBytesMax longer events are not kept until they are whole
   */
  constructor(sink?: EventSink, eventBytesMax = 0) {
    this.#sink = sink
    this.#eventBytesMax = eventBytesMax
  }

  /** No event is under way: another one may be put here. */
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

  /** Reads past bytes that are not to be split, to know whether an event ends with them. */
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

  /** Passes on what is left when the stream has ended. */
  end(): void {
    if (this.#heldBytes > 0) this.#endEvent(noBytes, 0, 0)
  }

  /** @param hasBytes this chunk has bytes of the line that ends; those before it may have some too */
  #endLine(hasBytes: boolean): void {
    const isBlank = !hasBytes && this.#place !== places.inLine
    this.#place = isBlank ? places.betweenEvents : places.lineStart
  }

  /** @returns where the next event begins */
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
