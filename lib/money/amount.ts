/** Integer micro-roubles: 1 rouble is 1,000,000. Always a safe integer. */
export type Micros = number

const microsPerRouble = 1_000_000

/** A thousand million roubles: sums of many amounts of this size are still safe integers. */
export const amountMicrosMax: Micros = 1e15

const decimal = /^(\d+)(?:\.(\d+))?$/
const decimalsMax = 6

/**
 * Reads roubles exactly: `"100.00"` is 100,000,000 micro-roubles. At most six decimals; no exponent, sign or space.
 * @throws RangeError when the text is not such a number
 */
export function parseRoubles(text: string): Micros {
  const match = decimal.exec(text)
  if (match === null) throw new RangeError(`"${text}" is not an amount in roubles, such as "100" or "0.25"`)
  const [, whole, fraction = ''] = match
  if (fraction.length > decimalsMax)
    throw new RangeError(`"${text}" has more than the ${decimalsMax} decimals of an amount in roubles`)
  const micros = Number(whole) * microsPerRouble + Number(fraction.padEnd(decimalsMax, '0'))
  if (micros > amountMicrosMax) throw new RangeError(`"${text}" is more than the largest amount, 1000000000`)
  return micros
}

/** Writes micro-roubles as roubles with six decimals: 1234 is `"0.001234"`. */
export function formatRoubles(micros: Micros): string {
  if (!Number.isSafeInteger(micros)) throw new RangeError(`${micros} is not a number of micro-roubles`)
  const size = Math.abs(micros)
  const whole = Math.floor(size / microsPerRouble)
  const fraction = String(size % microsPerRouble).padStart(6, '0')
  return `${micros < 0 ? '-' : ''}${whole}.${fraction}`
}
