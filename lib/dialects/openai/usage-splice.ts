import type { ScanResult } from '../../http/json-scan.ts'
import type { RequestFacts } from '../dialect.ts'
import { value, object } from '../interest.ts'
import { findField, readBoolean, wrongType } from '../read-field.ts'

/** `stream_options`, of which the place and what it says of usage matter. */
export const streamOptionsInterest = object({ include_usage: value('includeUsage') }, value('streamOptions'))

/**
 * What to write into a streaming request so that the answer reports its usage: the smallest change there
 * is, everything else stays as it was sent. Undefined when usage is asked for already.
 * @throws GatewayError body_invalid
 */
export function usageSplice(scan: ScanResult): RequestFacts['usageSplice'] {
  const stream = findField(scan, 'stream')
  if (stream?.type !== 'true') return undefined
  const options = scan.findings.find(finding => finding.name === 'streamOptions')
  if (options === undefined) {
    return insertion(stream.end, ',"stream_options":{"include_usage":true}')
  }
  if (options.type === 'null') {
    return replacement(options.start, options.end, '{"include_usage":true}')
  }
  if (options.type !== 'object') throw wrongType(options, 'an object')
  if (readBoolean(scan, 'includeUsage') === true) return undefined
  const includeUsage = scan.findings.find(finding => finding.name === 'includeUsage')
  if (includeUsage !== undefined) return replacement(includeUsage.start, includeUsage.end, 'true')
  const isEmpty = options.raw === undefined || /^\{\s*\}$/.test(options.raw.toString('latin1'))
  return insertion(options.start + 1, isEmpty ? '"include_usage":true' : '"include_usage":true,')
}

function insertion(at: number, text: string): RequestFacts['usageSplice'] {
  return replacement(at, at, text)
}

function replacement(start: number, end: number, text: string): RequestFacts['usageSplice'] {
  return { span: { start, end }, bytes: Buffer.from(text) }
}
