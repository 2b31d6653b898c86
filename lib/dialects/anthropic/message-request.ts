import type { Interest, ScanResult } from '../../http/json-scan.ts'
import type { RequestFacts } from '../dialect.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { names } from '../named-objects.ts'
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
    ['file_id', names('file')],
  ])
  const members = new Map<string, Interest>([
    ['type', value('blockType')],
    ['source', { members: source }],
    ['file_id', names('file')],
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
  container: anyOf(
    names('container'),
    object({ id: names('container'), skills: list(object({ skill_id: names('skill') })) }),
  ),
})

/** @throws GatewayError body_invalid */
export function messageFacts(scan: ScanResult, body: Buffer): RequestFacts {
  return factsFrom(scan, body)
}
