import type { Decimal } from './price.ts'

/**
 * Decimal places that a price may have, and so the scale of every rate: a list price has nine, an exchange rate and a
 * coefficient add theirs, and nothing is rounded before the amount of a charge.
 */
export const decimalScale = 30

/** The result of `parseDecimal` for `"1"`. */
export const decimalUnit = 10n ** BigInt(decimalScale)

const pattern = /^(\d{1,12})(?:\.(\d{1,30}))?$/

/**
 * Reads a decimal as an integer of 10^-30 units, exactly.
 * @throws RangeError when the text is not a plain decimal: no sign, exponent or space
 */
export function parseDecimal(text: Decimal): bigint {
  const match = pattern.exec(text)
  if (match === null) throw new RangeError(`"${text}" is not a decimal, such as "0.15"`)
  return BigInt((match[1] ?? '') + (match[2] ?? '').padEnd(decimalScale, '0'))
}

/** The same number in its shortest form, so that `"0.150"` and `"0.15"` are one price. */
export function canonicalDecimal(text: Decimal): Decimal {
  return writeDecimal(parseDecimal(text), decimalScale)
}

/** An integer of 10^-`scale` units as a decimal in its shortest form. */
export function writeDecimal(value: bigint, scale: number): Decimal {
  if (scale === 0) return String(value)
  const digits = String(value).padStart(scale + 1, '0')
  const fraction = digits.slice(-scale).replace(/0+$/, '')
  return digits.slice(0, -scale) + (fraction === '' ? '' : `.${fraction}`)
}

/** The exact product of decimals; it may have more digits than allowed in a price. */
export function productOf(...factors: readonly Decimal[]): Decimal {
  let value = 1n
  let scale = 0
  for (const factor of factors) {
    const [whole = '', fraction = ''] = canonicalDecimal(factor).split('.')
    value *= BigInt(whole + fraction)
    scale += fraction.length
  }
  return writeDecimal(value, scale)
}

/** The exact sum of decimals. */
export function sumOf(left: Decimal, right: Decimal): Decimal {
  return writeDecimal(parseDecimal(left) + parseDecimal(right), decimalScale)
}
