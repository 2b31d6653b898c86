import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { names, labelsItem } from '../named-objects.ts'
import { searched, unread, strangeMembers } from '../naming-members.ts'
import { containerMembers } from '../provider-tools.ts'
import { cacheMembers } from '../request-facts.ts'
import { toolInterest } from '../search-tools.ts'
import type { Finding, ScanResult } from '../../http/json-scan.ts'

/**
 * Most items that a client sends back are complete, and their ids are labels. Items of these types, and those without a
 * type or role, refer to what the provider has stored, unless they include their content: open models send the text of
 * their reasoning, others an encrypted one. A reference is one whatever else the item contains.
 */
const referenceTypes: ReadonlySet<unknown> = new Set([
  null,
  'item_reference',
  'reasoning',
  'image_generation_call',
  'message',
])

/** The findings without the ids of items that the request contains in full. */
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
    // The provider may use the image that it has stored under this id.
    return types.get(item) === 'image_generation_call' ? [{ ...finding, name: labelsItem }] : []
  })
}

/** The item that contains a finding; text is in a part of its content. */
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

const inputPart = object({
  ...strangeMembers,
  text: span('itemText'),
  image_url: anyOf(base64('image'), object({ ...strangeMembers, url: base64('image') })),
  file_id: names('file'),
  file_data: base64('document'),
  file_url: anyOf(base64('document'), object({ ...strangeMembers, url: base64('document') })),
  input_audio: object({ ...strangeMembers, data: base64('audio') }),
  ...cacheMembers,
})

/** A tool, and the stores that it searches. */
export const tool = toolInterest(
  { ...cacheMembers, ...containerMembers, input_image_mask: searched({ image_url: base64('image') }) },
  cacheMembers,
)

/** A prompt that is stored at OpenAI. The values of its variables are texts, or parts of an input. */
export const storedPrompt = searched({ id: names('prompt'), variables: object({ '*': inputPart }) })

/** Outputs of tools contain images too, and so do earlier responses that the client sends back. */
export const inputItem = searched({
  ...cacheMembers,
  id: names('item'),
  type: value('itemType'),
  role: value('itemRole'),
  encrypted_content: span('itemContent'),
  container_id: names('container'),
  environment: object({ container_id: names('container') }),
  content: anyOf(list(inputPart), inputPart),
  output: anyOf(list(inputPart), inputPart),
  result: base64('image'),
  // Queries and opened pages.
  action: unread,
  tools: list(tool),
})
