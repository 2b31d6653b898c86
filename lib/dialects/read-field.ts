import type { Finding, JsonType, ScanResult } from '../http/json-scan.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { fold } from '../http/json-plan.ts'

/** Google's names that determine the cost of a request; its snake case is lower-case anyway. */
const camelCase: ReadonlySet<string> = new Set(
  `serviceTier candidateCount sampleCount sampleImageSize numberOfVideos durationSeconds
    maxOutputTokens thinkingConfig thinkingBudget thinkingLevel generationConfig inputConfig
    generateContentRequest`.split(/\s+/),
)

/** The last member of a path, without a list index. */
export function memberOf({ path }: Pick<Finding, 'path'>): string {
  return path.slice(path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '')
}

/**
 * Whether a member, and those that contain it, are spelled as providers document them. The scan reads `MAX_TOKENS` as
 * `max_tokens`, as some servers do. Others ignore it, so it must not lower the cost of a request.
 */
export function isSpelled({ path }: Pick<Finding, 'path'>): boolean {
  if (path === fold(path, false)) return true
  return path.split(/[.[]/).every(isMemberSpelled)
}

function isMemberSpelled(member: string): boolean {
  return member === fold(member, false) || camelCase.has(member)
}

/** Findings that determine the cost of a request; a provider that does not find them uses something else. */
const decisive: ReadonlySet<string> = new Set(
  `model stream wantedTier wantedSpeed wantedPlace candidates bestOf background store generate size
    quality resolution seconds samples images`.split(/\s+/),
)

/**
 * A provider that distinguishes upper and lower case ignores another spelling, of a member or of what contains it, and
 * uses its default: its own model, no stream, a tier or an image that costs more.
 * @throws GatewayError body_invalid
 */
export function requireSpellings({ findings }: ScanResult): void {
  for (const finding of findings) {
    if (!decisive.has(finding.name) || finding.type === 'null' || isSpelled(finding)) continue
    const { path } = finding
    const member = path.split(/[.[]/).find(one => !isMemberSpelled(one)) ?? ''
    const documented = [...camelCase].find(name => fold(name, false) === fold(member, false))
    const spelling = JSON.stringify(documented ?? fold(member, false))
    throw new GatewayError('body_invalid', `In ${path}, "${member}" must be spelled ${spelling}.`, {
      param: path,
    })
  }
}

/** The first finding of a name that is not null: null means the same as absent to every provider. */
export function findField(scan: ScanResult, name: string): Finding | undefined {
  return scan.findings.find(finding => finding.name === name && finding.type !== 'null')
}

/**
 * A string field, unescaped; undefined when absent.
 * @throws GatewayError body_invalid
 */
export function readString(scan: ScanResult, name: string): string | undefined {
  const finding = findField(scan, name)
  return finding === undefined ? undefined : textOf(finding)
}

/** @throws GatewayError body_invalid */
export function readBoolean(scan: ScanResult, name: string): boolean | undefined {
  const finding = findField(scan, name)
  if (finding === undefined) return undefined
  if (finding.type === 'true') return true
  if (finding.type === 'false') return false
  throw wrongType(finding, 'true or false')
}

/**
 * A count, such as a limit of tokens; undefined when absent.
 * @throws GatewayError body_invalid
 */
export function readCount(scan: ScanResult, name: string): number | undefined {
  const finding = findField(scan, name)
  if (finding === undefined) return undefined
  const count = finding.type === 'number' ? Number(finding.raw?.toString('latin1')) : Number.NaN
  // A limit beyond 2^53 would be rounded; no response is that long.
  if (Number.isSafeInteger(count) && count >= 0) return count
  throw wrongType(finding, 'a whole number of at least 0')
}

/**
 * The text of a string that was kept in full.
 * @throws GatewayError body_invalid
 */
export function textOf(finding: Finding): string {
  if (finding.type !== 'string' || finding.raw === undefined) throw wrongType(finding, 'a string')
  return String(JSON.parse(finding.raw.toString('utf8')))
}

/** The error for a field of the wrong type. */
export function wrongType(finding: Finding, expected: string): GatewayError {
  const names: Partial<Record<JsonType, string>> = { object: 'an object', array: 'an array' }
  const found = names[finding.type] ?? shortNumber(finding) ?? `a ${finding.type}`
  return new GatewayError('body_invalid', `${finding.path} must be ${expected}, not ${found}.`, {
    param: finding.path,
  })
}

/** A refused number differs from the expected ones only in its value, so the error shows it. */
function shortNumber({ type, raw }: Finding): string | undefined {
  return type === 'number' && raw !== undefined && raw.length <= 40 ? raw.toString('latin1') : undefined
}
