import type { Interest, ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, RequestFacts } from '../dialect.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { names } from '../named-objects.ts'
import { toolMembers } from '../search-tools.ts'
import { cacheMembers, factsFrom, modelMembers, tierMembers } from '../request-facts.ts'

/**
 * A content block. Results of tools, and documents made of blocks, hold blocks again, so the tree refers
 * to itself. The type of every block is left out of batches, which have blocks by the hundred thousand.
 */
function contentBlock(isTyped: boolean): Interest {
  const source = new Map<string, Interest>([
    ['type', value('sourceType')],
    ['media_type', value('mediaType')],
    ['data', base64('media')],
    ['url', base64('media')],
    ['file_id', names('file')],
  ])
  const members = new Map<string, Interest>([
    ...(isTyped ? [['type', value('blockType')] as const] : []),
    ['source', { members: source }],
    ['file_id', names('file')],
    ...Object.entries(cacheMembers),
  ])
  const block: Interest = { members }
  const blocks = anyOf(list(block), block)
  members.set('content', blocks)
  source.set('content', blocks)
  return block
}

function messageInterest(content: Interest, own: Readonly<Record<string, Interest>>): Interest {
  return object({
    ...modelMembers,
    ...own,
    ...cacheMembers,
    stream: value('stream'),
    max_tokens: value('cap'),
    system: content,
    messages: list(object({ content })),
    tools: list(object({ ...cacheMembers, ...toolMembers })),
    container: anyOf(
      names('container'),
      object({ id: names('container'), skills: list(object({ skill_id: names('skill') })) }),
    ),
  })
}

/** The body of `/messages` and of counting its tokens. */
export const messageRequest = messageInterest(list(contentBlock(true)), tierMembers)

/** The same inside a batch. */
export const batchedMessage = messageInterest(list(contentBlock(false)), {})

/** @throws GatewayError body_invalid */
export function messageFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  return factsFrom(scan, body)
}
