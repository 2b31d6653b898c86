import { fold } from './json-fold.ts'
import { JsonScanError } from './json-scan-error.ts'
import type { Interest } from './json-scan.ts'
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
  readonly #interests: (Interest | undefined)[] = []
  readonly #findings: (OpenFinding | undefined)[] = []
  readonly #keys: (string | undefined)[] = []
  readonly #indexes: number[] = []
  readonly #paths: (string | undefined)[] = []
  readonly #seen: string[][] = []
  readonly #foldUnderscores: boolean
  readonly #rejectDuplicates: boolean

  constructor(foldUnderscores: boolean, rejectDuplicates: boolean) {
    this.#foldUnderscores = foldUnderscores
    this.#rejectDuplicates = rejectDuplicates
  }

  get isInObject(): boolean {
    return this.#isObject[this.depth - 1] === true
  }

  /** True where the keys of the innermost object have to be read. */
  get wantsKeys(): boolean {
    return this.#interests[this.depth - 1]?.members !== undefined
  }

  open(isObject: boolean, interest: Interest | undefined, finding: OpenFinding | undefined): void {
    const depth = this.depth
    this.#isObject[depth] = isObject
    this.#interests[depth] = interest
    this.#findings[depth] = finding
    if (interest !== undefined) {
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

  /** The interest in the next item of the innermost array. */
  nextItem(): Interest | undefined {
    const top = this.depth - 1
    const interest = this.#interests[top]
    if (interest === undefined) return undefined
    this.#indexes[top] = (this.#indexes[top] as number) + 1
    return interest.items
  }

  /** The interest in the member with this key. @throws JsonScanError duplicate */
  member(key: string, offset: number): Interest | undefined {
    const top = this.depth - 1
    this.#keys[top] = key
    const folded = fold(key, this.#foldUnderscores)
    const interest = this.#interests[top]?.members?.get(folded)
    if (interest === undefined || !this.#rejectDuplicates) return interest
    let seen = this.#seen[top]
    if (seen === undefined) this.#seen[top] = seen = []
    if (seen.includes(folded)) {
      const path = this.path()
      throw new JsonScanError(
        'duplicate',
        path,
        offset,
        `The body names ${path} twice (case, escapes and spelling variants count as one). Send it once.`,
      )
    }
    seen.push(folded)
    return interest
  }

  /** The place of the current value: `messages[3].content`. It ends where nothing is of interest. */
  path(): string {
    let known = 0
    while (known < this.depth && this.#interests[known] !== undefined) known++
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
