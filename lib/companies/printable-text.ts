/** A problem of a text for a document. Positions count characters from 1. */
export type TextProblem =
  | { readonly kind: 'missing' }
  | { readonly kind: 'tooLong'; readonly found: number; readonly max: number }
  | { readonly kind: 'unprintable'; readonly position: number; readonly found: string }

/**
 * The characters that the typeface of the documents has: Latin with its accents, Cyrillic, and the signs of names and
 * addresses. Control characters and direction marks are not among them, because they can make two names look alike.
 */
const printable = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u017f\u0400-\u0486\u0488-\u0513‐-―‘-„†-•…‰′″‹›€₽№™]$/u

/** A text in the form in which it is stored: no spaces at its ends, one between words, no line breaks. */
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

/** The first problem, if there is one. Characters are counted by code point, as XML Schema does. */
export function checkText(text: string, max: number): TextProblem | undefined {
  const characters = Array.from(text)
  if (characters.length === 0) return { kind: 'missing' }
  if (characters.length > max) return { kind: 'tooLong', found: characters.length, max }
  const position = characters.findIndex(one => !isPrintable(one)) + 1
  return position === 0 ? undefined : { kind: 'unprintable', position, found: characters[position - 1] ?? '' }
}
