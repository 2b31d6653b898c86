/** Control characters, and those that turn the direction of what stands around them. */
const unseen = /[\p{Cc}\p{Cs}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** A text without what nobody sees, such as the name of a file. */
export function seenText(text: string): string {
  return text.replaceAll(unseen, '')
}

/** Whether a text of one line is without what nobody sees. */
export function isSeen(text: string): boolean {
  return seenText(text) === text
}

/** Whether a text of several lines is. */
export function isSeenInLines(text: string): boolean {
  return isSeen(text.replaceAll(/[\t\n\r]/g, ' '))
}
