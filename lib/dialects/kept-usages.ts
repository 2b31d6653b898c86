import { JsonScanError, scanJson } from '../http/json-scan.ts'
import type { Interest } from '../http/json-scan.ts'

/**
 * The last usage object under each name of an interest: never added up, a later one replaces an earlier
 * one, unless it counts nothing. Their text is kept as the provider wrote it.
 */
export class KeptUsages {
  readonly #interest: Interest
  readonly #values = new Map<string, object>()
  readonly #sources = new Map<string, string | Buffer>()
  /** Worked out when it is first asked for. */
  #text: string | undefined
  /** One of them counted fewer tokens of output than the one before it. */
  hasFallen = false
  /** One event had two of them in one place. */
  isTwice = false

  constructor(interest: Interest) {
    this.#interest = interest
  }

  /** `source` is the object's own text, or the event that it stands in: most events are soon replaced. */
  keep(name: string, value: object, source: string | Buffer): void {
    const before = this.#values.get(name)
    if (before !== undefined && outputOf(value) < outputOf(before)) this.hasFallen = true
    if (before !== undefined && countsNothing(value) && !countsNothing(before)) {
      this.hasFallen = true
      return
    }
    this.#values.set(name, value)
    this.#sources.set(name, source)
    this.#text = undefined
  }

  get(name: string): object | undefined {
    return this.#values.get(name)
  }

  /** The only object's text, or an object of all by their names; undefined when there is none. */
  text(): string | undefined {
    this.#text ??= this.#allTexts()
    return this.#text
  }

  #allTexts(): string | undefined {
    const texts: string[] = []
    for (const [name, source] of this.#sources) {
      const text = typeof source === 'string' ? source : this.#cutOut(name, source)
      texts.push(this.#sources.size === 1 ? text : `${JSON.stringify(name)}:${text}`)
    }
    return texts.length > 1 ? `{${texts.join(',')}}` : texts[0]
  }

  #cutOut(name: string, event: Buffer): string {
    const again = JSON.stringify(this.#values.get(name))
    try {
      const { findings } = scanJson(event, this.#interest, { rejectDuplicates: false })
      const found = findings.filter(one => one.name === name && one.type === 'object')
      const finding = found.at(-1)
      this.isTwice ||= found.some(one => one !== finding && one.path === finding?.path)
      return finding?.raw?.toString('utf8') ?? again
    } catch (error) {
      // The scan has limits that parsing has not, such as how deep a document nests.
      if (error instanceof JsonScanError) return again
      throw error
    }
  }
}

/** Whether a usage counts nothing at all, however deep its counts stand. */
export function countsNothing(usage: object): boolean {
  return Object.values(usage).every((count: unknown) => {
    if (typeof count === 'object' && count !== null) return countsNothing(count)
    return (typeof count !== 'number' && typeof count !== 'string') || !(Number(count) > 0)
  })
}

function outputOf(usage: { readonly completion_tokens?: unknown; readonly output_tokens?: unknown }): number {
  const { completion_tokens: completion, output_tokens: output = completion } = usage
  return typeof output === 'number' ? output : 0
}
