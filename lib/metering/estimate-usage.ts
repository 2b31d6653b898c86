import type { RequestFacts } from '../dialects/dialect.ts'
import type { Meters, UsageLine, UsageReading } from '../money/usage.ts'

/**
 * What an answer without usage is taken to have consumed: its bytes of text by a fixed ratio, and the units
 * the request itself named.
 */
export function estimateUsage(facts: RequestFacts, reading: UsageReading, bytesPerToken: number): UsageLine {
  const meters: Meters = {
    input: Math.ceil(facts.textBytes / bytesPerToken),
    output: Math.ceil(reading.outputTextBytes / bytesPerToken),
    ...facts.units,
  }
  return { meters, ...(facts.unitsVariant !== undefined && { variant: facts.unitsVariant }) }
}
