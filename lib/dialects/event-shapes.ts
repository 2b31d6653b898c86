import { JsonScanError, type Interest } from '../http/json-scan.ts'
import { EventShape, type EventPlace, type ShapeSink } from './event-shape.ts'

interface EventsSink extends ShapeSink {
  /** Everything in the event has been told. */
  onEventEnd(): void
}

/** Of one stream: text, reasoning, the arguments of a tool. */
const shapesMax = 3
/** The first events of a stream are rarely like any other. */
const eventsBeforeLearning = 2
/** How many events may be looked at without finding a shape that others have. */
const triesMax = 8
/** Longer events are rarely like the one before. */
const eventBytesMax = 65_536

const lineFeed = 0x0a
const carriageReturn = 0x0d
const noBytes = Buffer.alloc(0)

/** The shapes that one stream's events have, learned from those that were parsed. */
export class EventShapes {
  readonly #interest: Interest
  /** The one that fitted last comes first. */
  readonly #shapes: EventShape[] = []
  #parsedCount = 0
  #triesLeft = triesMax
  /** What is being split into events, and where the next of them begins; -1 where that is not known. */
  #bytes: Buffer = noBytes
  #start = -1

  constructor(interest: Interest) {
    this.#interest = interest
  }

  /**
   * Tells what the events hold with which the bytes begin, as long as they have known shapes.
   * @returns where the first begins that has not
   */
  read(bytes: Buffer, sink: EventsSink): number {
    let start = 0
    while (start < bytes.length) {
      const end = this.#readOne(bytes, start, sink)
      if (end === -1) return start
      sink.onEventEnd()
      start = end
    }
    return start
  }

  /** Bytes are about to be split into events, the first of which begins at `start`; -1 for one that began before. */
  begin(bytes: Buffer, start: number): void {
    if (this.#triesLeft === 0) return
    this.#bytes = bytes
    this.#start = start
  }

  /** An event was parsed without an error, and others may be like it. */
  learn(data: Buffer): void {
    if (this.#triesLeft === 0) return
    this.#parsedCount += 1
    const place = this.#placeOf(data)
    if (place === undefined || this.#parsedCount <= eventsBeforeLearning) return
    this.#triesLeft -= 1
    const shape = shapeOf(this.#bytes, place, this.#interest)
    if (shape === undefined) return
    if (this.#shapes.length === shapesMax) this.#shapes.pop()
    this.#shapes.unshift(shape)
  }

  #readOne(bytes: Buffer, start: number, sink: ShapeSink): number {
    for (let index = 0; index < this.#shapes.length; index += 1) {
      const shape = this.#shapes[index] as EventShape
      const end = shape.read(bytes, start, sink)
      if (end === -1) continue
      this.#triesLeft = triesMax
      if (index > 0) {
        this.#shapes.splice(index, 1)
        this.#shapes.unshift(shape)
      }
      return end
    }
    return -1
  }

  /** Where the event is; undefined for one that is not whole in these bytes, or not framed as events usually are. */
  #placeOf(data: Buffer): EventPlace | undefined {
    const bytes = this.#bytes
    const start = this.#start
    const dataStart = data.byteOffset - bytes.byteOffset
    const dataEnd = dataStart + data.length
    const end = endOfEvent(bytes, dataEnd)
    const isWithin = data.buffer === bytes.buffer && start !== -1 && dataStart >= start && end !== -1
    this.#start = isWithin ? end : -1
    return isWithin && end - start <= eventBytesMax ? { start, dataStart, dataEnd, end } : undefined
  }
}

/** Behind the blank line after an event's last line; -1 where another line follows, or the bytes end. */
function endOfEvent(bytes: Buffer, lineEnd: number): number {
  let at = lineEnd
  for (let lines = 0; lines < 2; lines += 1) {
    if (bytes[at] === carriageReturn) at += 1
    if (bytes[at] !== lineFeed) return -1
    at += 1
  }
  return at
}

/** The scan has limits that parsing has not, such as how deep a document nests. */
function shapeOf(bytes: Buffer, place: EventPlace, interest: Interest): EventShape | undefined {
  try {
    return EventShape.of(bytes, place, interest)
  } catch (error) {
    if (error instanceof JsonScanError) return undefined
    throw error
  }
}
