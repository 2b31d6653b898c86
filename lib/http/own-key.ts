const ownKey = /\bgw-[\w-]{43}/

/** Whether a key of ours stands in a text. */
export function holdsOwnKey(text: string): boolean {
  return text.includes('gw-') && ownKey.test(text)
}
