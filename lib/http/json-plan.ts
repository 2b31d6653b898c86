import type { Interest } from './json-scan.ts'

/** An interest prepared for the scan, with its names as bytes. Built once per interest and cached. */
export interface Plan {
  readonly name: string | undefined
  readonly keep: Interest['keep']
  readonly keys: KeyTable | undefined
  readonly items: Plan | undefined
}

/** What to find under one key. */
export interface Member {
  /** Folded. */
  readonly name: string
  readonly bytes: Buffer
  readonly plan: Plan
  /** It matches all names with this ending. */
  readonly ending?: string
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const plans = new WeakMap<Interest, Plan>()
const underscoreFoldingPlans = new WeakMap<Interest, Plan>()

/** The plan of an interest, which may refer to itself. */
export function planOf(interest: Interest, foldUnderscores: boolean): Plan {
  const known = foldUnderscores ? underscoreFoldingPlans : plans
  const existing = known.get(interest)
  if (existing !== undefined) return existing
  const plan: Writable<Plan> = { name: interest.name, keep: interest.keep, keys: undefined, items: undefined }
  known.set(interest, plan)
  if (interest.items !== undefined) plan.items = planOf(interest.items, foldUnderscores)
  if (interest.members !== undefined) plan.keys = new KeyTable(interest.members, foldUnderscores)
  return plan
}

/** The member names of one interest. Most keys of a body are distinguished by a few bytes, without a string. */
export class KeyTable {
  readonly #foldUnderscores: boolean
  readonly #byFirstByte: Member[][] = []
  readonly #byName = new Map<string, Member>()
  /** The longest first, so that `*` comes last. */
  readonly #byEnding: Member[] = []

  constructor(members: ReadonlyMap<string, Interest>, foldUnderscores: boolean) {
    this.#foldUnderscores = foldUnderscores
    for (let byte = 0; byte < 128; byte++) this.#byFirstByte.push([])
    for (const [key, interest] of members) {
      const name = fold(key, foldUnderscores)
      const bytes = Buffer.from(name)
      const plan = planOf(interest, foldUnderscores)
      if (name.startsWith('*')) {
        this.#byEnding.push({ name, bytes, plan, ending: name.slice(1) })
        continue
      }
      const member: Member = { name, bytes, plan }
      this.#byName.set(name, member)
      this.#byFirstByte[bytes[0] ?? 128]?.push(member)
    }
    this.#byEnding.sort((one, other) => other.name.length - one.name.length)
  }

  /** The member with a key given as unescaped text. */
  find(key: string): Member | undefined {
    const folded = fold(key, this.#foldUnderscores)
    const exact = this.#byName.get(folded)
    if (exact !== undefined) return exact
    for (const member of this.#byEnding) {
      if (folded.endsWith(member.ending ?? '')) return member
    }
    return undefined
  }

  /** The member with the key in these bytes, which have no escapes. */
  match(chunk: Buffer, start: number, end: number): Member | undefined {
    let position = start
    while (position < end && this.#foldUnderscores && chunk[position] === 0x5f) position++
    if (position === end) return this.find('')
    const first = chunk[position] as number
    // Letters beyond ASCII may fold into an ASCII letter.
    if (first >= 0x80) return this.find(chunk.toString('utf8', start, end))
    const candidates = this.#byFirstByte[lower(first)] as Member[]
    for (let index = 0; index < candidates.length; index++) {
      const member = candidates[index] as Member
      const stop = this.#mismatch(member.bytes, chunk, start, end)
      if (stop === -1) return member
      if (stop < end && (chunk[stop] as number) >= 0x80) return this.find(chunk.toString('utf8', start, end))
    }
    return this.#byEnding.length === 0 ? undefined : this.find(chunk.toString('utf8', start, end))
  }

  /** Where the key differs from the name; -1 when it does not. */
  #mismatch(name: Buffer, chunk: Buffer, start: number, end: number): number {
    let matched = 0
    for (let position = start; position < end; position++) {
      const byte = lower(chunk[position] as number)
      if (byte === 0x5f && this.#foldUnderscores) continue
      if (byte !== name[matched]) return position
      matched++
    }
    return matched === name.length ? -1 : end
  }
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
}

/**
 * The form in which two spellings of a key are equal: lower-case, and without underscores where snake and camel case
 * mean the same (Google). Go's decoder also accepts the long s and the Kelvin sign as `s` and `k`, so they fold too.
 */
export function fold(key: string, foldUnderscores: boolean): string {
  let folded = key.toLowerCase()
  if (folded.includes('\u017f')) folded = folded.replaceAll('\u017f', 's')
  if (foldUnderscores && folded.includes('_')) folded = folded.replaceAll('_', '')
  return folded
}
