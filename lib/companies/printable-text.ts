/** What is wrong with a text that is to stand on a document. Positions count characters from 1. */
export type TextProblem =
  | { readonly kind: 'missing' }
  | { readonly kind: 'tooLong'; readonly found: number; readonly max: number }
  | { readonly kind: 'unprintable'; readonly position: number; readonly found: string }

/**
 * What the typeface of the documents has: Latin with its accents, Cyrillic, and the signs that names and addresses
 * are written with. Control characters and marks of direction are not among them: they make two names that look alike.
 */
const printable = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u017f\u0400-\u0486\u0488-\u0513‐-―‘-„†-•…‰′″‹›€₽№™]$/u

/** A text as it is stored: no space at its ends, one between words, no line breaks. */
export function cleanText(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\s\u00a0\u202f]+/g, ' ')
    .trim()
}

/** Whether a character can be printed. */
function isPrintable(character: string): boolean {
  return printable.test(character)
}

/** The first breach, if there is one. Characters are counted as XML Schema does, by code point. */
export function checkText(text: string, max: number): TextProblem | undefined {
  const characters = Array.from(text)
  if (characters.length === 0) return { kind: 'missing' }
  if (characters.length > max) return { kind: 'tooLong', found: characters.length, max }
  const position = characters.findIndex(one => !isPrintable(one)) + 1
  return position === 0 ? undefined : { kind: 'unprintable', position, found: characters[position - 1] ?? '' }
}
