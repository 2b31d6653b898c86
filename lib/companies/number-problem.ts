/** What is wrong with a number of a company or a bank. Positions count from 1, as people do. */
export type NumberProblem =
  | { readonly kind: 'length'; readonly found: number; readonly expected: readonly number[] }
  | { readonly kind: 'character'; readonly position: number; readonly found: string }
  | { readonly kind: 'prefix'; readonly found: string; readonly expected: readonly string[] }
  | {
      readonly kind: 'checkDigit'
      readonly position: number
      readonly found: string
      /** What the other digits give. */
      readonly expected: string
    }

/** A number as it is stored: people type and paste spaces and hyphens between its digits. */
export function cleanNumber(text: string): string {
  return text.replaceAll(/[\s\u00a0\u202f\u2010-\u2015-]/g, '')
}

/** The first breach of a length or of the digits, if there is one. */
export function digitsProblem(text: string, ...lengths: readonly number[]): NumberProblem | undefined {
  const characters = Array.from(text)
  const position = characters.findIndex(one => !/^\d$/.test(one)) + 1
  if (position > 0) return { kind: 'character', position, found: characters[position - 1] ?? '' }
  if (!lengths.includes(text.length)) return { kind: 'length', found: text.length, expected: lengths }
  return undefined
}

/** Compares one digit with what the others give. */
export function checkDigitProblem(
  text: string,
  position: number,
  expected: number,
): NumberProblem | undefined {
  const found = text.charAt(position - 1)
  return found === String(expected)
    ? undefined
    : { kind: 'checkDigit', position, found, expected: String(expected) }
}

/** The sum of the digits, each times its weight; what has no weight counts nothing. */
export function weightedSum(text: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, index) => sum + weight * Number(text.charAt(index)), 0)
}
