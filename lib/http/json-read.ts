import type { Finding, ScanResult } from './json-scan.ts'

/** The first finding of that name, in document order. */
export function findFirst(result: ScanResult, name: string): Finding | undefined {
  return result.findings.find(finding => finding.name === name)
}

export function findAll(result: ScanResult, name: string): readonly Finding[] {
  return result.findings.filter(finding => finding.name === name)
}

/** The text of a string finding kept with `keep: 'value'`; undefined for any other type. */
export function stringOf(finding: Finding | undefined): string | undefined {
  if (finding?.type !== 'string' || finding.raw === undefined) return undefined
  const text = finding.raw.toString()
  // Most strings have no escapes, and then stand between their quotes as they are.
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}

/** The value of a number finding; `1e400` is Infinity, as in JSON.parse. */
export function numberOf(finding: Finding | undefined): number | undefined {
  if (finding?.type !== 'number' || finding.raw === undefined) return undefined
  return Number(finding.raw.toString('latin1'))
}

export function booleanOf(finding: Finding | undefined): boolean | undefined {
  if (finding?.type === 'true') return true
  return finding?.type === 'false' ? false : undefined
}

/** The first finding of that name as a string; undefined when absent or of another type. */
export function findString(result: ScanResult, name: string): string | undefined {
  return stringOf(findFirst(result, name))
}

/** The first finding of that name as a number; undefined when absent or of another type. */
export function findNumber(result: ScanResult, name: string): number | undefined {
  return numberOf(findFirst(result, name))
}

/** The first finding of that name as a boolean; undefined when absent or of another type. */
export function findBoolean(result: ScanResult, name: string): boolean | undefined {
  return booleanOf(findFirst(result, name))
}
