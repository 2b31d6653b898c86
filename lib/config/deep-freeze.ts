/** Freezes a value and all it holds. Maps refuse to change; a URL's own setters cannot be frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    for (const item of value.values()) deepFreeze(item)
    Object.defineProperties(value, { set: refusal, delete: refusal, clear: refusal })
  } else {
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return Object.freeze(value)
}

const refusal: PropertyDescriptor = {
  value() {
    throw new TypeError('the configuration is frozen')
  },
}
