import type { Finding } from './json-scan.ts'

/** The text of a string finding kept with `keep: 'value'`; undefined for any other type. */
export function stringOf(finding: Finding | undefined): string | undefined {
  if (finding?.type !== 'string' || finding.raw === undefined) return undefined
  const text = finding.raw.toString()
  // Most strings have no escapes, and then stand between their quotes as they are.
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}
