import type { Interest, ScanResult } from '../../http/json-scan.ts'
import type { NamedObject } from '../../money/usage.ts'
import type { OwnFacts } from '../request-facts.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { findAllTexts } from '../read-field.ts'

/** Keys are folded without underscores, since Google takes snake and camel case. */
function contentPart(): Interest {
  const members = new Map<string, Interest>([
    ['inlinedata', object({ mimetype: value('mediaType'), data: base64('media') })],
    ['filedata', object({ mimetype: value('mediaType'), fileuri: value('mediaUri') })],
  ])
  const part: Interest = { members }
  members.set('functionresponse', object({ parts: anyOf(list(part), part) }))
  return part
}

const part = contentPart()
/** Lists of one may be written without brackets. */
export const content = object({ parts: anyOf(list(part), part) })
/** A conversation: a list of contents, or the only one without brackets. */
export const contents = anyOf(list(content), content)

const uploaded = /^(?:https:\/\/generativelanguage\.googleapis\.com\/(?:[^?#]*\/)?)?(files\/[\w-]+)/i

/** Objects of the provider that a request refers to: uploaded files and cached contents. */
export function namedObjects(scan: ScanResult): NonNullable<OwnFacts['objects']> {
  const objects: NamedObject[] = []
  for (const uri of findAllTexts(scan, 'mediaUri')) {
    const file = uploaded.exec(uri)?.[1]
    if (file !== undefined) objects.push({ kind: 'file', id: file })
  }
  for (const id of findAllTexts(scan, 'cachedContent')) objects.push({ kind: 'cachedContent', id })
  return objects
}
