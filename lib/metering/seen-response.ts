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

/**
 * What of a response was seen, for `costSeen`.
 * @param sampled what is known of its text already
 */
export function seenResponse(reading: UsageReading, sampled = new SampledTokens()): SeenResponse {
  const { lines, toolUses = 0 } = reading
  const text = unmeteredTokens(reading, sampled)
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
function unmeteredTokens(
  { unmeteredTextBytes, textSample }: UsageReading,
  sampled: SampledTokens,
): { readonly likely: number; readonly most: number } {
  if (textSample === undefined || textSample.bytes.length === 0) {
    const tokens = Math.ceil(unmeteredTextBytes / bytesPerToken)
    return { likely: tokens, most: tokens }
  }
  sampled.read(textSample)
  const share = unmeteredTextBytes / textSample.bytes.length
  const likely = margin * sampled.likely
  return {
    likely: Math.ceil(likely * share),
    most: Math.ceil((likely + denseMargin * sampled.denseBytes) * share),
  }
}

/** The tokens of a sample that grows: its bytes are looked at once, unless some of them are others now. */
export class SampledTokens {
  #density = new TextDensity()
  #denseBytes = 0
  #readBytes = 0
  /** The next byte is the second of a Russian letter. */
  #isSecond = false

  get likely(): number {
    return this.#density.tokens.likely
  }

  /** Bytes that are no letter of English or Russian, and no space. */
  get denseBytes(): number {
    return this.#denseBytes
  }

  read({ bytes, isContinued }: NonNullable<UsageReading['textSample']>): void {
    if (!isContinued) this.#startAnew()
    this.#density.add(bytes, this.#readBytes)
    for (let position = this.#readBytes; position < bytes.length; position++) {
      const byte = bytes[position] as number
      if (this.#isSecond) this.#isSecond = false
      else if (byte === 0xd0 || byte === 0xd1) this.#isSecond = true
      else if (!isLetter(byte) && byte !== 0x20 && byte !== 0x0a) this.#denseBytes += 1
    }
    this.#readBytes = bytes.length
  }

  #startAnew(): void {
    this.#density = new TextDensity()
    this.#denseBytes = 0
    this.#readBytes = 0
    this.#isSecond = false
  }
}

function isLetter(byte: number): boolean {
  const small = byte | 0x20
  return small >= 0x61 && small <= 0x7a
}
