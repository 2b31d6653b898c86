import type { Meter, Meters, UsageLine } from '../money/usage.ts'

/** What a usage object comes to: disjoint meters, and numbers that are kept but not priced. */
export interface Measure {
  readonly meters: Meters
  readonly details: Record<string, number>
  /** The price variant of unit meters. */
  readonly variant?: string
}

/** What a whole answer comes to. */
export interface AnswerMeasure {
  readonly lines: readonly UsageLine[]
  readonly details: Readonly<Record<string, number>>
}

/**
 * Splits a total into parts that the provider counts within it. Each part takes at most what is left, so
 * that the sum of the parts is always the provider's total.
 */
export class Split {
  rest: number
  /** A part was larger than what was left of the total. */
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

/** Side meters are named only when something was used, so that a missing price for nothing is no alarm. */
export function addUsed(meters: Meters, meter: Meter, units: number | undefined): void {
  if (units !== undefined && units > 0) meters[meter] = (meters[meter] ?? 0) + units
}

/** Details, too, are named only when something was used. */
export function addDetail(details: Record<string, number>, name: string, units: number | undefined): void {
  if (units !== undefined && units > 0) details[name] = (details[name] ?? 0) + units
}

/** A tier is one of tokens: what was searched has its own price in each, so it stands in a line of its own. */
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

/** Whether nothing was used, whatever was counted. */
export function isZero(lines: readonly UsageLine[]): boolean {
  for (const { meters } of lines) for (const meter in meters) if (meters[meter as Meter] !== 0) return false
  return true
}
