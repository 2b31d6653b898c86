/** Whether a pattern covers a name; `*` stands for any letters, none included. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let position = first.length
  for (const part of rest) {
    const found = name.indexOf(part, position)
    if (found === -1) return false
    position = found + part.length
  }
  return position <= name.length - last.length
}
