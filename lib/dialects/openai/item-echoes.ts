import type { Finding, ScanResult } from '../../http/json-scan.ts'
import { labelsItem } from '../named-objects.ts'

/**
 * Most items that a client sends back are whole, and their ids are labels. Those of these types, and those without a
 * type or role, stand for what the provider has kept, unless they have their content with them: open models send the
 * text of their reasoning, others an encrypted one. A reference is one whatever stands beside it.
 */
const referenceTypes: ReadonlySet<unknown> = new Set([
  null,
  'item_reference',
  'reasoning',
  'image_generation_call',
  'message',
])

/** The findings less the ids of items that stand there in full. */
export function withoutEchoes(findings: ScanResult['findings']): ScanResult['findings'] {
  const types = new Map<string, unknown>()
  for (const finding of findings) {
    if (finding.name === 'itemType') types.set(itemOf(finding), typeOf(finding.raw))
  }
  const whole = new Set<string>()
  for (const finding of findings) {
    const item = itemOf(finding)
    if (isSignOfWhole(finding, types.get(item))) whole.add(item)
  }
  if (whole.size === 0) return findings
  return findings.flatMap(finding => {
    const item = itemOf(finding)
    if (finding.name !== 'names:item' || !whole.has(item)) return [finding]
    // Its provider may take the image that it has kept under this id.
    return types.get(item) === 'image_generation_call' ? [{ ...finding, name: labelsItem }] : []
  })
}

/** The item that a finding stands in; text stands in a part of its content. */
function itemOf({ name, path }: Finding): string {
  const parent = path.slice(0, path.lastIndexOf('.'))
  return name === 'itemText' ? parent.slice(0, parent.lastIndexOf('.')) : parent
}

function isSignOfWhole({ name, path, type, start, end }: Finding, itemType: unknown): boolean {
  if (itemType === 'item_reference') return false
  if (name === 'itemType') return !referenceTypes.has(itemType)
  if (type !== 'string') return false
  if (name === 'itemText') return itemType === 'reasoning' && end - start > 2
  return name === 'itemRole' || name === 'itemContent' || (name === 'image' && path.endsWith('.result'))
}

function typeOf(raw: Buffer | undefined): unknown {
  const type: unknown = raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
  return typeof type === 'string' ? type.toLowerCase() : type
}
