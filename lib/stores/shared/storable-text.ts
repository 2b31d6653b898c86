/** PostgreSQL's text holds no NUL and no half of a surrogate pair; what a provider sends may. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed()
}
