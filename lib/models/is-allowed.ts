/**
 * Whether an allow-list of models covers a name. An entry may end in `*`; no list allows everything.
 */
export function isAllowed(allowed: readonly string[] | undefined, name: string): boolean {
  if (allowed === undefined) return true
  return allowed.some(entry => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name))
}
