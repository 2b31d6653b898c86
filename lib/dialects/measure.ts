import {
  inputMeters,
  outputMeters,
  type Meter,
  type Meters,
  type UsageLine,
  type UsageReading,
} from '../money/usage.ts'
import { JsonScanError, scanJson, type Interest } from '../http/json-scan.ts'

/** The contents of a usage object: disjoint meters, and numbers that are recorded but not priced. */
export interface Measure {
  readonly meters: Meters
  readonly details: Record<string, number>
  /** The price variant of unit meters. */
  readonly variant?: string | undefined
  readonly tier?: string | undefined
}

/** A line of usage with its tier and its variant. */
export function lineOf(meters: Meters, { tier, variant }: Pick<Measure, 'tier' | 'variant'>): UsageLine {
  return { meters, ...(tier !== undefined && { tier }), ...(variant !== undefined && { variant }) }
}

/** The usage of a whole response. */
export interface ResponseMeasure {
  readonly lines: readonly UsageLine[]
  readonly details: Readonly<Record<string, number>>
}

/** The usage of a response with one usage object, or none. */
export function responseOf(measure: Measure | undefined): ResponseMeasure {
  if (measure === undefined) return { lines: [], details: {} }
  return { lines: [lineOf(measure.meters, measure)], details: measure.details }
}

/** The reading of a response with nothing to read. */
export const nothingRead: UsageReading = {
  lines: [],
  isTerminal: false,
  hasError: false,
  hasOutput: false,
  outputTextBytes: 0,
  unmeteredTextBytes: 0,
  flags: [],
}

/**
 * Splits a total into parts that the provider counts within it. Each part gets at most the rest, so that the sum of the
 * parts is always the provider's total.
 */
export class Split {
  rest: number
  /** A part was larger than the rest of the total. */
  isOverdrawn = false

  constructor(total: number) {
    this.rest = total
  }

  take(part: number | undefined): number {
    const wanted = part ?? 0
    const taken = Math.min(wanted, this.rest)
    if (taken < wanted) this.isOverdrawn = true
    this.rest -= taken
    return taken
  }
}

/** Side meters are named only when used, so that a missing price for an unused meter raises no alarm. */
export function addUsed(meters: Meters, meter: Meter, units: number | undefined): void {
  if (units !== undefined && units > 0) meters[meter] = (meters[meter] ?? 0) + units
}

/** Details, too, are named only when used. */
export function addDetail(details: Record<string, number>, name: string, units: number | undefined): void {
  if (units !== undefined && units > 0) details[name] = (details[name] ?? 0) + units
}

/** A tier applies to tokens; searches have one price in every tier, so they get a line of their own. */
export function searchesApart(lines: readonly UsageLine[]): readonly UsageLine[] {
  const apart: UsageLine[] = []
  for (const line of lines) {
    const { searches, ...meters } = line.meters
    if (line.tier === undefined || searches === undefined) apart.push(line)
    else {
      const { tier: _, ...others } = line
      apart.push({ ...line, meters }, { ...others, meters: { searches } })
    }
  }
  return apart
}

/** Whether every count is zero. */
export function isZero(lines: readonly UsageLine[]): boolean {
  for (const { meters } of lines) for (const meter in meters) if (meters[meter as Meter] !== 0) return false
  return true
}

/** Whether a line reports its input, even if it is zero. */
export function namesInput({ meters }: UsageLine): boolean {
  return inputMeters.some(meter => meters[meter] !== undefined)
}

/** Whether any output was counted. */
export function isWritten(lines: readonly UsageLine[]): boolean {
  for (const { meters } of lines) for (const meter of outputMeters) if ((meters[meter] ?? 0) > 0) return true
  return false
}

/** The tokens of an image of up to 1024 x 1024 pixels at Gemini: https://ai.google.dev/gemini-api/docs/pricing. */
export const drawnTokens = 1290

/** OpenAI counts 20 tokens a second of speech, Google 25. */
export const spokenTokensPerSecond = 25

/** Counts that a provider sends as text: below 2^53. */
const digits = /^\d{1,15}$/
const decimal = /^\d{1,12}(?:\.\d{1,9})?$/

/**
 * Reads numbers from a provider's usage object, which may contain anything. A field that is absent or null is
 * undefined; one that is not a plain count is ignored and flagged `usage_invalid`.
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
    // Beyond 2^53 the number differs from the one sent; 1e400 arrives as Infinity.
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

  /** A number that is never charged, such as the provider's own cost. */
  number(name: string): number | undefined {
    const value = this.#fields[name]
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined
  }

  text(name: string): string | undefined {
    const value = this.#fields[name]
    return typeof value === 'string' ? value : undefined
  }

  /** The first of these fields that is an object; an empty one if there is none. */
  within(...names: readonly string[]): UsageFields {
    return new UsageFields(this.#first(names), this.#flags)
  }

  /** The objects in an array field; empty if there is none. */
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

/**
 * The last usage object under each name of an interest: objects are never added up; a later one replaces an earlier
 * one, unless all its counts are zero. Their text is kept as the provider sent it.
 */
export class KeptUsages {
  readonly #interest: Interest
  readonly #values = new Map<string, object>()
  readonly #sources = new Map<string, string | Buffer>()
  /** An object counted fewer output tokens than the one before it. */
  hasFallen = false
  /** An event contained two usage objects in one place. */
  isTwice = false

  constructor(interest: Interest) {
    this.#interest = interest
  }

  /**
   * `source` is the object's own text, or the event that contains it: most are soon replaced, so the event is scanned
   * late.
   */
  keep(name: string, value: object, source: string | Buffer): void {
    const before = this.#values.get(name)
    if (before !== undefined && outputOf(value) < outputOf(before)) this.hasFallen = true
    if (before !== undefined && countsNothing(value) && !countsNothing(before)) {
      this.hasFallen = true
      return
    }
    this.#values.set(name, value)
    this.#sources.set(name, source)
  }

  get(name: string): object | undefined {
    return this.#values.get(name)
  }

  /** The only object's text, or one object with all texts by name; undefined when there is none. */
  text(): string | undefined {
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
      // The scan has limits that parsing does not have, such as the nesting depth.
      if (error instanceof JsonScanError) return again
      throw error
    }
  }
}

/** Whether all counts of a usage are zero, at any depth. */
export function countsNothing(usage: object): boolean {
  for (const count of Object.values(usage) as unknown[]) {
    if (typeof count === 'object' && count !== null) {
      if (!countsNothing(count)) return false
    } else if ((typeof count === 'number' || typeof count === 'string') && Number(count) > 0) return false
  }
  return true
}

function outputOf(usage: { readonly completion_tokens?: unknown; readonly output_tokens?: unknown }): number {
  const { completion_tokens: completion, output_tokens: output = completion } = usage
  return typeof output === 'number' ? output : 0
}
