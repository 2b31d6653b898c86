import type { OpenFinding } from './json-findings.ts'
import type { KeyTable, Member, Plan } from './json-plan.ts'

/** The states of a scan in RFC 8259's grammar. Up to `endExpected`, the scan is between tokens. */
export const valueExpected = 0
export const valueOrCloseExpected = 1
export const keyExpected = 2
export const keyOrCloseExpected = 3
export const colonExpected = 4
export const commaOrCloseExpected = 5
export const endExpected = 6
export const inText = 7
export const inWord = 8

const expectations = [
  'a value',
  "a value or ']'",
  'a key in double quotes',
  "a key in double quotes or '}'",
  "':'",
  "',' or the end of the object or array",
  'nothing more',
]

/** Why a document was not scanned to its end. */
export type JsonScanReason = 'syntax' | 'too_deep' | 'duplicate' | 'cut_off' | 'value_too_large' | 'too_many'

/** Why a document was refused. The message gives the position and what to do, and may be shown to the caller. */
export class JsonScanError extends Error {
  readonly reason: JsonScanReason
  /** `messages[3].content`; empty at the top level. */
  readonly path: string
  /** The offset in the document at which the scan stopped. */
  readonly offset: number

  constructor(reason: JsonScanReason, path: string, offset: number, message: string) {
    super(message)
    this.name = 'JsonScanError'
    this.reason = reason
    this.path = path
    this.offset = offset
  }
}

/** Describes a byte that is invalid at its position. */
export function describeUnexpected(byte: number, state: number, offset: number): string {
  if (offset === 0 && byte === 0xef) return 'it begins with a byte order mark, which has to go'
  const found = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte ${byte}`
  return `${found} was found where ${expectations[state]} was expected`
}

const pathKeyCharactersMax = 64
const plainKey = /^[\w$-]+$/

/** An open object or array. Frames are reused, level by level, so that opening one allocates nothing. */
class Frame {
  isObject = false
  plan: Plan | undefined
  finding: OpenFinding | undefined
  /** The current member, if it is of interest, as the document spells it. */
  key: string | undefined
  /** The member is of interest only because every member is, not by its name. */
  isAnyKey = false
  /** The current item. */
  index = -1
  /** Its own path, computed on first use. */
  path: string | undefined
  readonly seen: Member[] = []
}

/** The containers that are open at this point of the scan, outermost first. */
export class JsonFrames {
  depth = 0
  isInObject = false
  /** The keys of interest in the innermost object. */
  keys: KeyTable | undefined
  readonly #frames: Frame[] = []
  readonly #rejectDuplicates: boolean
  #top: Frame | undefined

  constructor(rejectDuplicates: boolean) {
    this.#rejectDuplicates = rejectDuplicates
  }

  open(isObject: boolean, plan: Plan | undefined, finding: OpenFinding | undefined): void {
    if (this.depth === this.#frames.length) this.#frames.push(new Frame())
    const frame = this.#frames[this.depth++] as Frame
    frame.isObject = isObject
    frame.plan = plan
    frame.finding = finding
    if (plan !== undefined) {
      frame.key = undefined
      frame.index = -1
      frame.path = undefined
      if (frame.seen.length > 0) frame.seen.length = 0
    }
    this.#top = frame
    this.keys = plan?.keys
    this.isInObject = isObject
  }

  close(): OpenFinding | undefined {
    const finding = this.#top?.finding
    this.depth--
    this.#top = this.depth === 0 ? undefined : this.#frames[this.depth - 1]
    this.keys = this.#top?.plan?.keys
    this.isInObject = this.#top?.isObject ?? false
    return finding
  }

  /** The plan for the next item of the innermost array. */
  nextItem(): Plan | undefined {
    const top = this.#top
    if (top?.plan === undefined) return undefined
    top.index++
    return top.plan.items
  }

  /** Enters a member of the innermost object, spelled `key`. @throws JsonScanError duplicate */
  enter(member: Member | undefined, key: string | undefined, offset: number): Plan | undefined {
    const top = this.#top
    if (top === undefined) return undefined
    top.key = key
    top.isAnyKey = member?.ending !== undefined
    if (member === undefined) return undefined
    if (this.#rejectDuplicates && member.ending === undefined) {
      if (top.seen.includes(member)) throw this.#twice(offset)
      top.seen.push(member)
    }
    return member.plan
  }

  #twice(offset: number): JsonScanError {
    const path = this.path()
    return new JsonScanError(
      'duplicate',
      path,
      offset,
      `The body names ${path} twice (case, escapes and spelling variants count as one). Send it once.`,
    )
  }

  /** The path of the current value: `messages[3].content`. It ends where nothing is of interest. */
  path(): string {
    let known = 0
    while (known < this.depth && this.#frames[known]?.plan !== undefined) known++
    return known === 0 ? '' : this.#pathWithin(known - 1)
  }

  /** The part of the path made of names of interest: other names are the client's, and messages are logged. */
  knownPath(): string {
    let known = 0
    while (known < this.depth) {
      const frame = this.#frames[known] as Frame
      if (frame.plan === undefined || (frame.isObject && frame.isAnyKey)) break
      known++
    }
    return known === 0 ? '' : this.#pathWithin(known - 1)
  }

  /** The path of the current member or item of a container. The container's own path is computed once. */
  #pathWithin(level: number): string {
    const frame = this.#frames[level] as Frame
    const container = level === 0 ? '' : (frame.path ??= this.#pathWithin(level - 1))
    if (!frame.isObject) return frame.index < 0 ? container : `${container}[${frame.index}]`
    const key = frame.key
    if (key === undefined) return container
    // A key may be anything, and paths appear in messages and logs.
    if (!plainKey.test(key)) return `${container}[${JSON.stringify(shorten(key))}]`
    return container === '' ? shorten(key) : `${container}.${shorten(key)}`
  }
}

function shorten(key: string): string {
  return key.length <= pathKeyCharactersMax ? key : `${key.slice(0, pathKeyCharactersMax)}...`
}
