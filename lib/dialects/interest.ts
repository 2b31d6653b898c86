import type { Interest } from '../http/json-scan.ts'

/** A value that is kept in full. */
export function value(name: string): Interest {
  return { name, keep: 'value' }
}

/** A value of which only the position and the type are kept. */
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

/** For a field that may have one of several shapes, such as a string or a list of parts. */
export function anyOf(...interests: readonly Interest[]): Interest {
  return Object.assign({}, ...interests)
}
