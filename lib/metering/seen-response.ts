import { TextDensity } from '../http/text-density.ts'
import type { Meter, Meters, UsageReading } from '../money/usage.ts'
import type { SeenResponse } from './exchange-cost.ts'

/** Texts differ so much from what is usual for such bytes. */
const margin = 1.15
/** Digits, marks and rare characters may have a token a byte, and are usually taken for no less than the rest of that. */
const denseMargin = 0.63
/** Of text of which no sample was kept. */
const bytesPerToken = 3
const outputMeters: ReadonlySet<string> = new Set<Meter>(['output', 'audioOutput', 'imageOutput'])

/** What of a response was seen, for `costSeen`. */
export function seenResponse(reading: UsageReading): SeenResponse {
  const { lines, toolUses = 0 } = reading
  const text = unmeteredTokens(reading)
  let told = 0
  let read: Meters | undefined
  for (const { meters } of lines) {
    for (const [meter, units] of Object.entries(meters)) {
      if (outputMeters.has(meter)) told += units
      else if (units > 0) read = { ...read, [meter]: (read?.[meter as Meter] ?? 0) + units }
    }
  }
  return {
    outputTokens: told + text.likely,
    outputTokensMost: told + text.most,
    toolUses,
    read,
  }
}

/** The beginning of the text and what came last tell what it is made of. */
function unmeteredTokens({ unmeteredTextBytes, textSample }: UsageReading): {
  readonly likely: number
  readonly most: number
} {
  if (textSample === undefined || textSample.bytes.length === 0) {
    const tokens = Math.ceil(unmeteredTextBytes / bytesPerToken)
    return { likely: tokens, most: tokens }
  }
  const { bytes } = textSample
  const density = new TextDensity()
  density.add(bytes)
  const share = unmeteredTextBytes / bytes.length
  const likely = margin * density.tokens.likely
  return {
    likely: Math.ceil(likely * share),
    most: Math.ceil((likely + denseMargin * denseBytes(bytes)) * share),
  }
}

/** Bytes that are no letter of English or Russian, and no space. */
function denseBytes(bytes: Buffer): number {
  let count = 0
  for (let position = 0; position < bytes.length; position++) {
    const byte = bytes[position] as number
    if (byte === 0xd0 || byte === 0xd1) position += 1
    else if (!isLetter(byte) && byte !== 0x20 && byte !== 0x0a) count += 1
  }
  return count
}

function isLetter(byte: number): boolean {
  const small = byte | 0x20
  return small >= 0x61 && small <= 0x7a
}
