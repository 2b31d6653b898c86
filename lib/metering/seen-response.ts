import { TextDensity } from '../http/text-density.ts'
import type { Meter, Meters, UsageReading } from '../money/usage.ts'
import type { SeenResponse } from './exchange-cost.ts'

/** Texts differ so much from what is usual for such bytes. */
const margin = 1.15
/** Of text of which no sample was kept. */
const bytesPerToken = 3
const outputMeters: ReadonlySet<string> = new Set<Meter>(['output', 'audioOutput', 'imageOutput'])

/** What of a response was seen, for `costSeen`. */
export function seenResponse(reading: UsageReading): SeenResponse {
  const { lines, toolUses = 0 } = reading
  let outputTokens = unmeteredTokens(reading)
  let read: Meters | undefined
  for (const { meters } of lines) {
    for (const [meter, units] of Object.entries(meters)) {
      if (outputMeters.has(meter)) outputTokens += units
      else if (units > 0) read = { ...read, [meter]: (read?.[meter as Meter] ?? 0) + units }
    }
  }
  return { outputTokens, toolUses, read }
}

/** Digits and marks have more tokens than words: the first part of the text tells which it is made of. */
function unmeteredTokens({ unmeteredTextBytes, textSample }: UsageReading): number {
  if (textSample === undefined || textSample.bytes.length === 0)
    return Math.ceil(unmeteredTextBytes / bytesPerToken)
  const density = new TextDensity()
  density.add(textSample.bytes)
  return Math.ceil((margin * density.tokens.likely * unmeteredTextBytes) / textSample.bytes.length)
}
