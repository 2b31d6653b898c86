/** Control characters, and those that change the direction of the text around them. */
const unseen = /[\p{Cc}\p{Cs}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** A text, such as the name of a file, without invisible characters. */
export function seenText(text: string): string {
  return text.replaceAll(unseen, '')
}

/** Whether a text of one line has no invisible characters. */
export function isSeen(text: string): boolean {
  return seenText(text) === text
}

/** The same for a text of several lines. */
export function isSeenInLines(text: string): boolean {
  return isSeen(text.replaceAll(/[\t\n\r]/g, ' '))
}
