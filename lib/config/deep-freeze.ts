/** Freezes a value and all it holds. Maps refuse to change; a URL's own setters cannot be frozen. */
export function deepFreeze<T>(value: T): T {
  freezeInto(value, new Set())
  return value
}

/** What is frozen already may hold what is not, so only what was visited is passed over. */
function freezeInto(value: unknown, visited: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || visited.has(value)) return
  visited.add(value)
  if (value instanceof Map) {
    for (const item of value.values()) freezeInto(item, visited)
    Object.defineProperties(value, { set: refusal, delete: refusal, clear: refusal })
  } else {
    for (const item of Object.values(value)) freezeInto(item, visited)
  }
  Object.freeze(value)
}

const refusal: PropertyDescriptor = {
  value() {
    throw new TypeError('the configuration is frozen')
  },
}
