/** Counts that a provider has written as text: below 2^53. */
const digits = /^\d{1,15}$/
const decimal = /^\d{1,12}(?:\.\d{1,9})?$/

/**
 * Reads numbers out of a provider's usage object, which may hold anything. What is absent or null is
 * undefined; what is not a plain count is ignored and flagged `usage_invalid`.
 */
export class UsageFields {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #flags: Set<string>

  constructor(value: unknown, flags: Set<string>) {
    this.#fields = isObject(value) ? value : {}
    this.#flags = flags
  }

  /** The first of these fields that is present, as a whole number of units. */
  count(...names: readonly string[]): number | undefined {
    const value = this.#first(names)
    if (value === undefined) return undefined
    // Beyond 2^53 the number is no longer the one that was sent; 1e400 arrives as Infinity.
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    if (typeof value === 'string' && digits.test(value)) {
      this.#flags.add('usage_as_text')
      return Number(value)
    }
    this.#flags.add('usage_invalid')
    return undefined
  }

  /** A quantity that may have a fraction, such as seconds. */
  quantity(...names: readonly string[]): number | undefined {
    const value = this.#first(names)
    if (value === undefined) return undefined
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value
    if (typeof value === 'string' && decimal.test(value)) {
      this.#flags.add('usage_as_text')
      return Number(value)
    }
    this.#flags.add('usage_invalid')
    return undefined
  }

  /** A number that nothing is charged by, such as the provider's own cost. */
  number(name: string): number | undefined {
    const value = this.#fields[name]
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined
  }

  text(name: string): string | undefined {
    const value = this.#fields[name]
    return typeof value === 'string' ? value : undefined
  }

  /** The first of these fields that is an object; an empty one where there is none. */
  within(...names: readonly string[]): UsageFields {
    return new UsageFields(this.#first(names), this.#flags)
  }

  /** The objects in an array field; empty where there is none. */
  items(...names: readonly string[]): readonly UsageFields[] {
    const value = this.#first(names)
    return Array.isArray(value) ? value.map(item => new UsageFields(item, this.#flags)) : []
  }

  has(...names: readonly string[]): boolean {
    return this.#first(names) !== undefined
  }

  flag(name: string): void {
    this.#flags.add(name)
  }

  #first(names: readonly string[]): unknown {
    for (const name of names) {
      const value = this.#fields[name]
      if (value !== undefined && value !== null) return value
    }
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
