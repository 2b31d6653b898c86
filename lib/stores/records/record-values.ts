import type { QueryValue } from '../shared/store-queries.ts'

/** The values of a query, which both databases must take: truth is 0 or 1, times are milliseconds. */
export function recordValues(values: readonly unknown[]): QueryValue[] {
  return values.map(value => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value
    throw new TypeError(`a value of a query is a ${typeof value}; text, numbers and null are stored`)
  })
}
