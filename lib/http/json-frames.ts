import { JsonScanError } from './json-scan-error.ts'
import type { KeyTable, Member, Plan } from './json-plan.ts'
import type { OpenFinding } from './json-findings.ts'

const pathKeyCharactersMax = 64
const plainKey = /^[\w$-]+$/

/**
 * The containers that are open at a point of the scan, outermost first. Parallel arrays instead of one
 * object a container: most containers of a body are opened and closed without a finding.
 */
export class JsonFrames {
  depth = 0
  readonly #isObject: boolean[] = []
  readonly #plans: (Plan | undefined)[] = []
  readonly #findings: (OpenFinding | undefined)[] = []
  readonly #keys: (string | undefined)[] = []
  readonly #indexes: number[] = []
  readonly #paths: (string | undefined)[] = []
  readonly #seen: Member[][] = []
  readonly #rejectDuplicates: boolean

  constructor(rejectDuplicates: boolean) {
    this.#rejectDuplicates = rejectDuplicates
  }

  get isInObject(): boolean {
    return this.#isObject[this.depth - 1] === true
  }

  /** The keys of interest in the innermost object. */
  get keys(): KeyTable | undefined {
    return this.#plans[this.depth - 1]?.keys
  }

  open(isObject: boolean, plan: Plan | undefined, finding: OpenFinding | undefined): void {
    const depth = this.depth
    this.#isObject[depth] = isObject
    this.#plans[depth] = plan
    this.#findings[depth] = finding
    if (plan !== undefined) {
      this.#keys[depth] = undefined
      this.#indexes[depth] = -1
      this.#paths[depth] = undefined
      const seen = this.#seen[depth]
      if (seen !== undefined) seen.length = 0
    }
    this.depth = depth + 1
  }

  close(): OpenFinding | undefined {
    this.depth--
    const finding = this.#findings[this.depth]
    this.#findings[this.depth] = undefined
    return finding
  }

  /** The plan for the next item of the innermost array. */
  nextItem(): Plan | undefined {
    const top = this.depth - 1
    const plan = this.#plans[top]
    if (plan === undefined) return undefined
    this.#indexes[top] = (this.#indexes[top] as number) + 1
    return plan.items
  }

  /** Enters a member of the innermost object, spelled `key`. @throws JsonScanError duplicate */
  enter(member: Member | undefined, key: string | undefined, offset: number): Plan | undefined {
    const top = this.depth - 1
    this.#keys[top] = key
    if (member === undefined) return undefined
    if (this.#rejectDuplicates) this.#refuseTwice(member, top, offset)
    return member.plan
  }

  #refuseTwice(member: Member, top: number, offset: number): void {
    const seen = (this.#seen[top] ??= [])
    if (!seen.includes(member)) {
      seen.push(member)
      return
    }
    const path = this.path()
    throw new JsonScanError(
      'duplicate',
      path,
      offset,
      `The body names ${path} twice (case, escapes and spelling variants count as one). Send it once.`,
    )
  }

  /** The place of the current value: `messages[3].content`. It ends where nothing is of interest. */
  path(): string {
    let known = 0
    while (known < this.depth && this.#plans[known] !== undefined) known++
    return known === 0 ? '' : this.#pathWithin(known - 1)
  }

  /** The current member or item of a container. The container's own path is worked out once. */
  #pathWithin(frame: number): string {
    let container = ''
    if (frame > 0) container = this.#paths[frame] ??= this.#pathWithin(frame - 1)
    if (this.#isObject[frame] !== true) {
      const index = this.#indexes[frame] as number
      return index < 0 ? container : `${container}[${index}]`
    }
    const key = this.#keys[frame]
    if (key === undefined) return container
    // A key may be anything, and paths end up in messages and logs.
    if (!plainKey.test(key)) return `${container}[${JSON.stringify(shorten(key))}]`
    return container === '' ? shorten(key) : `${container}.${shorten(key)}`
  }
}

function shorten(key: string): string {
  return key.length <= pathKeyCharactersMax ? key : `${key.slice(0, pathKeyCharactersMax)}...`
}
