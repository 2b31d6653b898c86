import { fold } from '../http/json-scan.ts'
import type { Interest } from '../http/json-scan.ts'

/**
 * Hands over the values of interest in a document that is parsed already: for the many small events of a
 * stream, where JSON.parse is quicker than a scan.
 */
export function visitInterest(
  value: unknown,
  interest: Interest,
  visit: (name: string, value: unknown) => void,
): void {
  if (interest.name !== undefined) visit(interest.name, value)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (interest.items === undefined) return
    for (const item of value as readonly unknown[]) visitInterest(item, interest.items, visit)
    return
  }
  const members = interest.members
  if (members === undefined) return
  const object = value as Readonly<Record<string, unknown>>
  // Parsed JSON has no inherited members, and a loop makes no list of entries for every event.
  for (const key in object) {
    const wanted = members.get(key) ?? members.get(fold(key, false))
    if (wanted !== undefined) visitInterest(object[key], wanted, visit)
  }
}
