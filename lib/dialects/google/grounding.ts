import type { Interest } from '../../http/json-scan.ts'
import { list, object, span, value } from '../interest.ts'

/** More different searches than any answer makes. */
const queriesMax = 1000

/** Where a candidate tells what it was looked up for, under names with a prefix. */
export function groundingInterest(prefix = ''): Interest {
  return object({
    websearchqueries: list(value(`${prefix}query`)),
    imagesearchqueries: list(value(`${prefix}imageQuery`)),
    groundingchunks: list(object({ maps: span(`${prefix}maps`) })),
  })
}

/** What one answer was looked up for. No usage field tells. */
export class Grounding {
  readonly #queries = new Set<string>()
  #hasMaps = false

  /** Takes what the interest has found; answers false for what is something else. */
  take(name: string, found: unknown): boolean {
    if (name === 'maps') this.#hasMaps = true
    else if (name !== 'query' && name !== 'imageQuery') return false
    else if (typeof found === 'string' && found.trim() !== '' && this.#queries.size < queriesMax)
      // The same words may be looked for on pages and in images.
      this.#queries.add(`${name} ${found}`)
    return true
  }

  /**
   * Gemini 2 bills a grounded prompt once, and once more for its maps; Gemini 3 every different query, of which
   * those to maps are not told.
   */
  count(model: string | undefined): number {
    const isByPrompt = /^(?:models\/)?gemini-[12]\b/.test(model ?? '')
    const maps = this.#hasMaps ? 1 : 0
    return isByPrompt ? Math.min(1, this.#queries.size) + maps : Math.max(maps, this.#queries.size)
  }
}
