import { type Interest, fold } from '../http/json-scan.ts'

/** A value that is kept whole. */
export function value(name: string): Interest {
  return { name, keep: 'value' }
}

/** A value of which only the place and the type are wanted. */
export function span(name: string): Interest {
  return { name, keep: 'span' }
}

/** A string of base64, a data URL or an address. */
export function base64(name: string): Interest {
  return { name, keep: 'base64' }
}

/** An object with members of interest, by folded name. */
export function object(members: Readonly<Record<string, Interest>>, itself?: Interest): Interest {
  return { ...itself, members: new Map(Object.entries(members)) }
}

/** An array, every item of which is of interest. */
export function list(items: Interest, itself?: Interest): Interest {
  return { ...itself, items }
}

/** Where a field may hold one of several shapes, such as a string or a list of parts. */
export function anyOf(...interests: readonly Interest[]): Interest {
  return Object.assign({}, ...interests)
}

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
