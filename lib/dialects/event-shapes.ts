import { JsonScanError, type Interest } from '../http/json-scan.ts'
import type { EventFields } from '../http/event-splitter.ts'
import { EventShape, type ShapeSink } from './event-shape.ts'

interface EventsSink extends ShapeSink {
  /** Everything in the event has been reported. */
  onEventEnd(): void
}

/** For one stream: text, reasoning, the arguments of a tool. */
const shapesMax = 3
/** The first events of a stream are rarely like later ones. */
const eventsBeforeLearning = 2
/** How many events to try without finding a shape that others share. */
const triesMax = 8
/** Longer events are rarely like the one before. */
const eventBytesMax = 65_536

/** For all streams whose responses are read alike. */
const knownMax = 16
const knownBytesMax = 4096

const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Learned shapes, by the interest that they serve. Streams of one format share them: a stream's own memory is not in
 * the processor's cache when its next event arrives.
 */
const knownShapes = new WeakMap<Interest, EventShape[]>()

/** The shapes of one stream's events, learned from events that were parsed. */
export class EventShapes {
  readonly #interest: Interest
  /** The shape that fitted last comes first. */
  readonly #shapes: EventShape[] = []
  #parsedCount = 0
  #triesLeft = triesMax

  constructor(interest: Interest) {
    this.#interest = interest
  }

  /**
   * Reports the values of the leading events, as long as they have known shapes.
   * @returns where the first event of an unknown shape begins
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

  /** Learns from an event that was parsed without an error, since others may be like it. */
  learn(event: Buffer, { line }: EventFields): void {
    if (this.#triesLeft === 0) return
    this.#parsedCount += 1
    if (line === undefined || event.length > eventBytesMax || !endsAt(event, line.end)) return
    if (this.#parsedCount <= eventsBeforeLearning) return
    this.#triesLeft -= 1
    const shape =
      findKnown(event, this.#interest) ?? learnShape(event, line.valueStart, line.end, this.#interest)
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
}

/**
 * Whether an event ends after its line of data. False if CR is the last byte, since the LF of that line end may come
 * with the next event.
 */
function endsAt(event: Buffer, lineEnd: number): boolean {
  for (let at = lineEnd; at < event.length; at += 1) {
    if (event[at] !== lineFeed && event[at] !== carriageReturn) return false
  }
  return event[event.length - 1] === lineFeed
}

function findKnown(event: Buffer, interest: Interest): EventShape | undefined {
  return knownShapes.get(interest)?.find(shape => shape.fits(event))
}

/** The scan has limits that parsing does not have, such as the nesting depth. */
function learnShape(
  event: Buffer,
  dataStart: number,
  dataEnd: number,
  interest: Interest,
): EventShape | undefined {
  try {
    const shape = EventShape.of(event, dataStart, dataEnd, interest)
    if (shape !== undefined && event.length <= knownBytesMax) keepKnown(shape, interest)
    return shape
  } catch (error) {
    if (error instanceof JsonScanError) return undefined
    throw error
  }
}

/** The shape that was learned last comes first. */
function keepKnown(shape: EventShape, interest: Interest): void {
  const known = knownShapes.get(interest) ?? []
  known.unshift(shape)
  if (known.length > knownMax) known.pop()
  knownShapes.set(interest, known)
}
