import { type Price, ratesOf, workMeters } from '../money/price.ts'
import { inputMeters, outputMeters, type Meter, type UsageLine, type UsageReading } from '../money/usage.ts'

/**
 * What was read of a response without a usage that nothing can be charged by: one of zeros for what came, or one in
 * meters that have no price where the work is paid for in others. Its text and units are counted here then.
 * @param mainMeter what the operation mainly consumes
 */
export function chargeableReading(
  reading: UsageReading | undefined,
  mainMeter: Meter,
  price: Price,
): UsageReading | undefined {
  if (reading === undefined || reading.hasError) return reading
  const { lines, outputTextBytes } = reading
  const isOfTokens = mainMeter === 'output' || mainMeter === 'input'
  const isOfNothing = isOfTokens && reading.hasOutput && isZero(lines)
  if (!isOfNothing && !isUnpaid(lines, mainMeter, price)) return reading
  return { ...reading, lines: [], unmeteredTextBytes: outputTextBytes }
}

/** Whether text came of which its provider has counted nothing. */
export function isUncounted(
  { flags, lines, outputTextBytes, unmeteredTextBytes, isTerminal }: UsageReading,
  mainMeter: Meter,
): boolean {
  if (outputTextBytes === 0) return false
  // What opened the answer is its only usage, and knows of the output only how it began.
  if (isTerminal && unmeteredTextBytes > 0 && flags.includes('usage_partial')) return true
  if (flags.includes('usage_invalid') && (lines[0]?.meters.output ?? 0) === 0) return true
  return mainMeter === 'output' && isTerminal && lines.length > 0 && !isWritten(lines)
}

/** Whether a whole text was counted, and not what was read for it. */
export function isReadUncounted({ lines: [line], isTerminal }: UsageReading, mainMeter: Meter): boolean {
  return mainMeter === 'output' && isTerminal && line !== undefined && !namesInput(line)
}

/** Whether a line says what was read, be it nothing. */
export function namesInput({ meters }: UsageLine): boolean {
  return inputMeters.some(meter => meters[meter] !== undefined)
}

function isWritten(lines: readonly UsageLine[]): boolean {
  return lines.some(({ meters }) => outputMeters.some(meter => (meters[meter] ?? 0) > 0))
}

function isZero(lines: readonly UsageLine[]): boolean {
  return lines.every(({ meters }) => Object.values(meters).every(units => units === 0))
}

/** The work is told in meters of which none has a price. What it costs in others only its request says. */
function isUnpaid(lines: readonly UsageLine[], mainMeter: Meter, price: Price): boolean {
  const { levels, perUnit } = ratesOf(price)
  const units = [...perUnit.keys()].map(name => name.split('/', 1)[0])
  const told = workMeters(mainMeter).filter(meter => lines.some(({ meters }) => (meters[meter] ?? 0) > 0))
  const isPriced = (meter: Meter): boolean =>
    units.includes(meter) || levels.some(({ rates }) => rates[meter] !== undefined)
  return told.length > 0 && !told.some(isPriced)
}
