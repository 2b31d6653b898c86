import type { Decimal } from './price.ts'

/** Decimals behind the point that a price may have, and so the scale of every rate. */
const rateScale = 12

const pattern = /^(\d{1,12})(?:\.(\d{1,12}))?$/

/**
 * Reads a decimal as an integer of 10^-12 units, exactly.
 * @throws RangeError when the text is no plain decimal: no sign, exponent or space
 */
export function parseDecimal(text: Decimal): bigint {
  const match = pattern.exec(text)
  if (match === null) throw new RangeError(`"${text}" is not a decimal, such as "0.15"`)
  return BigInt((match[1] ?? '') + (match[2] ?? '').padEnd(rateScale, '0'))
}

/** The same number in its shortest form, so that `"0.150"` and `"0.15"` are one price. */
export function canonicalDecimal(text: Decimal): Decimal {
  return writeDecimal(parseDecimal(text), rateScale)
}

/** An integer of 10^-`scale` units as a decimal in its shortest form. */
export function writeDecimal(value: bigint, scale: number): Decimal {
  const digits = String(value).padStart(scale + 1, '0')
  const fraction = digits.slice(-scale).replace(/0+$/, '')
  return digits.slice(0, -scale) + (fraction === '' ? '' : `.${fraction}`)
}
