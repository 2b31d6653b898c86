import { fold, scanJson, type Finding, type Interest } from '../http/json-scan.ts'
import { numberEnd, objectEnd, scalarsIn, stringEnd } from '../http/json-values.ts'

/** What an event of a known shape contains, in document order. */
export interface ShapeSink {
  /** A value of interest; `source` is the text of a usage object, and empty otherwise. */
  onFound(name: string, value: unknown, textBytes: number, source: string): void
  /** A generated text without escapes: the position of its bytes, without the quotes. */
  onText(bytes: Buffer, start: number, end: number): void
}

/** How to read a hole. Numbers, as a stream's memory is not in the processor's cache when an event arrives. */
const kinds = { text: 0, usage: 1, string: 2, number: 3, blanks: 4 } as const
type HoleKind = (typeof kinds)[keyof typeof kinds]

interface Hole {
  readonly kind: HoleKind
  /** The position of the value in the document from which the shape was made. */
  readonly start: number
  readonly end: number
}

/** A value that is the same in all events of the shape, or the hole that contains it. */
interface ShapeValue {
  readonly name: string
  readonly value: unknown
  /** -1 for none. */
  readonly hole: number
}

/** What is known of the holes in the current event; shared by all shapes, since only one event is read at a time. */
const holesMax = 32
const starts = new Int32Array(holesMax)
const ends = new Int32Array(holesMax)
const sources = Array.from({ length: holesMax }, () => '')
const values: unknown[] = Array.from({ length: holesMax }, () => undefined)

const scanOptions = { rejectDuplicates: false }
const backslash = 0x5c
const blank = 0x20
const closeBrace = 0x7d
/** From this many bytes on, a native search and the view that it needs are faster than a loop. */
const searchedBytes = 256

/**
 * The shape of a stream's events that differ in their text alone: the bytes that all of them have, framing included,
 * and holes for generated text, for usage, for strings and numbers of no interest, and for the blanks behind a
 * document, with which Anthropic pads its events. An event that fits is neither split into lines nor parsed. Its values
 * are reported as `visitInterest` would report them, except for nulls, which carry no information.
 */
export class EventShape {
  /** The bytes that all events have, without the holes. */
  readonly #literals: Buffer
  /** Two numbers for each hole: the length of the literals before it, and its kind. */
  readonly #holes: Int32Array
  readonly #told: readonly ShapeValue[]

  private constructor(literals: Buffer, holes: Int32Array, told: readonly ShapeValue[]) {
    this.#literals = literals
    this.#holes = holes
    this.#told = told
  }

  /** The shape of an event whose JSON is known to be complete; undefined if the shape would be of no use. */
  static of(event: Buffer, dataStart: number, dataEnd: number, interest: Interest): EventShape | undefined {
    const document = event.subarray(dataStart, dataEnd)
    const { findings } = scanJson(document, interest, scanOptions)
    const visited = visitedValues(document, interest, findings)
    const holes = visited && holesIn(document, findings)
    if (holes === undefined || holes.length > holesMax) return undefined
    if (!holes.some(({ kind }) => kind === kinds.text)) return undefined
    const told: ShapeValue[] = []
    for (const [index, { name, start, type }] of findings.entries()) {
      const hole = holes.findIndex(each => each.start === start && isTold(each.kind))
      if (type !== 'null') told.push({ name, value: visited?.[index], hole })
    }
    return new EventShape(...laidOut(event, dataStart, holes), told)
  }

  /**
   * Reports the values of the event that begins here.
   * @returns where it ends, or -1 for an event of another shape, of which nothing is reported
   */
  read(bytes: Buffer, start: number, sink: ShapeSink): number {
    const end = this.#fit(bytes, start)
    if (end === -1 || !this.#parse(bytes)) return -1
    for (let index = 0; index < this.#told.length; index += 1) {
      const { name, value, hole } = this.#told[index] as ShapeValue
      if (hole === -1) sink.onFound(name, value, -1, '')
      else if (values[hole] !== undefined) sink.onFound(name, values[hole], -1, sources[hole] as string)
      else sink.onText(bytes, (starts[hole] as number) + 1, (ends[hole] as number) - 1)
    }
    return end
  }

  /** Whether a whole event is of this shape. */
  fits(event: Buffer): boolean {
    return this.#fit(event, 0) === event.length
  }

  #fit(bytes: Buffer, start: number): number {
    const literals = this.#literals
    const holes = this.#holes
    let from = 0
    let at = start
    for (let index = 0; index < holes.length; index += 2) {
      const to = holes[index] as number
      for (; from < to; from += 1, at += 1) {
        if (literals[from] !== bytes[at]) return -1
      }
      starts[index >> 1] = at
      at = holeEnd(holes[index + 1] as HoleKind, bytes, at)
      if (at === -1) return -1
      ends[index >> 1] = at
    }
    for (; from < literals.length; from += 1, at += 1) {
      if (literals[from] !== bytes[at]) return -1
    }
    return at
  }

  /** Parses texts with escapes, and usage; false where one of them is not valid JSON. */
  #parse(bytes: Buffer): boolean {
    const holes = this.#holes
    for (let index = 0; index < holes.length; index += 2) {
      const kind = holes[index + 1] as HoleKind
      if (!isTold(kind)) continue
      const hole = index >> 1
      const [start, end] = [starts[hole] as number, ends[hole] as number]
      values[hole] = undefined
      if (kind === kinds.text && !hasEscape(bytes, start, end)) continue
      const source = bytes.toString('utf8', start, end)
      sources[hole] = source
      try {
        values[hole] = JSON.parse(source)
      } catch {
        // The whole event is parsed then, and the error reported there.
        return false
      }
    }
    return true
  }
}

/** The bytes outside the holes, copied into a buffer of their own: a view would retain the whole chunk. */
function laidOut(event: Buffer, dataStart: number, holes: readonly Hole[]): [Buffer, Int32Array] {
  const layout: number[] = []
  const pieces: Buffer[] = []
  let from = 0
  let length = 0
  for (const { kind, start: holeStart, end: holeEnd } of holes) {
    const piece = event.subarray(from, dataStart + holeStart)
    pieces.push(piece)
    length += piece.length
    layout.push(length, kind)
    from = dataStart + holeEnd
  }
  pieces.push(event.subarray(from))
  const literals = Buffer.allocUnsafeSlow(length + event.length - from)
  let at = 0
  for (const piece of pieces) at += piece.copy(literals, at)
  return [literals, Int32Array.from(layout)]
}

function isTold(kind: HoleKind): boolean {
  return kind === kinds.text || kind === kinds.usage
}

function holeEnd(kind: HoleKind, bytes: Buffer, start: number): number {
  if (kind === kinds.number) return numberEnd(bytes, start)
  if (kind === kinds.blanks) return blanksEnd(bytes, start)
  return kind === kinds.usage ? objectEnd(bytes, start) : stringEnd(bytes, start)
}

function blanksEnd(bytes: Buffer, start: number): number {
  let at = start
  while (bytes[at] === blank) at += 1
  return at
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > searchedBytes) return bytes.subarray(start, end).includes(backslash)
  for (let at = start; at < end; at += 1) {
    if (bytes[at] === backslash) return true
  }
  return false
}

/** The values of the findings, as a visit reports them; undefined where the two differ, as for a duplicate name. */
function visitedValues(
  document: Buffer,
  interest: Interest,
  findings: readonly Finding[],
): readonly unknown[] | undefined {
  const names: string[] = []
  const values: unknown[] = []
  visitInterest(JSON.parse(document.toString('utf8')), interest, (name, value) => {
    names.push(name)
    values.push(value)
  })
  const isSame =
    names.length === findings.length &&
    findings.every(({ name, start, end }, index) => {
      const source: unknown = JSON.parse(document.toString('utf8', start, end))
      return name === names[index] && JSON.stringify(source) === JSON.stringify(values[index])
    })
  return isSame ? values : undefined
}

/** In document order; undefined where a value of interest would contain a hole. */
function holesIn(document: Buffer, findings: readonly Finding[]): readonly Hole[] | undefined {
  const holes: Hole[] = []
  const fixed: Finding[] = []
  for (const finding of findings) {
    const { name, type, start, end } = finding
    if (name === 'text' && type === 'string') holes.push({ kind: kinds.text, start, end })
    else if (name.startsWith('usage') && type === 'object') holes.push({ kind: kinds.usage, start, end })
    // Of other output only its presence matters.
    else if (name !== 'output') fixed.push(finding)
  }
  const isFixed = (place: { readonly start: number; readonly end: number }): boolean =>
    fixed.some(({ start, end }) => start < place.end && place.start < end)
  if (holes.some(isFixed)) return undefined
  for (const scalar of scalarsIn(document)) {
    const isHole = holes.some(({ start, end }) => start <= scalar.start && scalar.end <= end)
    if (!isHole && !isFixed(scalar))
      holes.push({ kind: kinds[scalar.type], start: scalar.start, end: scalar.end })
  }
  holes.push({ kind: kinds.blanks, start: document.lastIndexOf(closeBrace) + 1, end: document.length })
  return holes.toSorted((one, other) => one.start - other.start)
}

/**
 * Reports the values of interest in a parsed document: for the many small events of a stream, where JSON.parse is
 * faster than a scan.
 */
export function visitInterest(
  value: unknown,
  interest: Interest,
  visit: (name: string, value: unknown) => void,
): void {
  if (interest.name !== undefined) visit(interest.name, value)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (interest.items === undefined) return
    for (const item of value as readonly unknown[]) visitInterest(item, interest.items, visit)
    return
  }
  const members = interest.members
  if (members === undefined) return
  const object = value as Readonly<Record<string, unknown>>
  // Parsed JSON has no inherited members, and the loop does not allocate a list of entries for every event.
  for (const key in object) {
    const wanted = members.get(key) ?? members.get(fold(key, false))
    if (wanted !== undefined) visitInterest(object[key], wanted, visit)
  }
}
