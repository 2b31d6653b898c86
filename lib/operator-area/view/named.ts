/** What pages call a word of the store; the word itself where they have none. */
export function named(names: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(names, word) ? (names[word] ?? word) : word
}
