import type { Interest, ScanResult } from '../../http/json-scan.ts'
import type { NamedObject } from '../../money/usage.ts'
import type { RequestFacts } from '../dialect.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { findAllTexts } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'

/**
 * A content block. Results of tools, and documents made of blocks, hold blocks again, so the tree refers
 * to itself.
 */
function contentBlock(): Interest {
  const source = new Map<string, Interest>([
    ['type', value('sourceType')],
    ['media_type', value('mediaType')],
    ['data', base64('media')],
    ['url', base64('media')],
    ['file_id', value('fileId')],
  ])
  const members = new Map<string, Interest>([
    ['type', value('blockType')],
    ['source', { members: source }],
    ['file_id', value('fileId')],
  ])
  const block: Interest = { members }
  const blocks = anyOf(list(block), block)
  members.set('content', blocks)
  source.set('content', blocks)
  return block
}

const content = list(contentBlock())

/** The body of `/messages` and of counting its tokens. */
export const messageRequest = object({
  model: value('model'),
  stream: value('stream'),
  max_tokens: value('cap'),
  system: content,
  messages: list(object({ content })),
  container: anyOf(value('containerId'), object({ id: value('containerId') })),
})

/** @throws GatewayError body_invalid */
export function messageFacts(scan: ScanResult, body: Buffer): RequestFacts {
  const objects = [
    ...findAllTexts(scan, 'fileId').map((id): NamedObject => ({ kind: 'file', id })),
    ...findAllTexts(scan, 'containerId').map((id): NamedObject => ({ kind: 'container', id })),
  ]
  return factsFrom(scan, body, { objects })
}
