import { GatewayError } from '../../pipeline/errors.ts'
import type { Finding, Interest, ScanResult } from '../../http/json-scan.ts'
import type { BodyLength, RequestFacts } from '../dialect.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { names } from '../named-objects.ts'
import { searched, unread } from '../naming-members.ts'
import { findField } from '../read-field.ts'
import { containersIn } from '../rented-containers.ts'
import { searchMembers, toolInterest, toolsInterest } from '../search-tools.ts'
import { strangeMembers } from '../strange-members.ts'
import { cacheMembers, demandMembers, factsFrom, modelMembers, tierMembers } from '../request-facts.ts'

const strange = Object.entries(strangeMembers)

/**
 * A content block. Results of tools, and documents made of blocks, hold blocks again, so the tree refers
 * to itself. The type of every block is left out of batches, which have blocks by the hundred thousand.
 */
function contentBlock(isTyped: boolean): Interest {
  const source = new Map<string, Interest>([
    ...strange,
    ['type', value('sourceType')],
    ['media_type', value('mediaType')],
    ['data', base64('media')],
    ['url', base64('media')],
    ['file_id', names('file')],
  ])
  const members = new Map<string, Interest>([
    ...strange,
    // Found by a search, read, or called with: nothing that is fetched again.
    ...['url', 'uri', 'input', 'data', 'thinking'].map(name => [name, unread] as const),
    ...(isTyped ? [['type', value('blockType')] as const] : []),
    ['source', { members: source }],
    ['file_id', names('file')],
    // A tool that is added on the way.
    ['tool', searched({ definition: tool })],
    ...Object.entries(cacheMembers),
  ])
  const block: Interest = { members }
  const blocks = anyOf(list(block), block)
  members.set('content', blocks)
  source.set('content', blocks)
  return block
}

/** A tool, which may be a model of its own. */
const tool = toolInterest(cacheMembers)

function messageInterest(content: Interest): Interest {
  return searched({
    ...modelMembers,
    ...tierMembers,
    ...searchMembers,
    ...demandMembers,
    ...cacheMembers,
    stream: value('stream'),
    max_tokens: value('cap'),
    system: content,
    messages: list(object({ content: anyOf(content, content.items ?? {}) })),
    tools: toolsInterest(tool),
    // Compared with, and not gone on from.
    diagnostics: unread,
    thread: object({ previous_message_id: names('thread') }, span('thread')),
    fallbacks: anyOf(value('fallbacks'), list(searched({}))),
    container: anyOf(names('container'), searched({ id: names('container') })),
  })
}

/** The body of `/messages` and of counting its tokens. */
export const messageRequest = messageInterest(list(contentBlock(true)))

/** The same inside a batch. */
export const batchedMessage = messageInterest(list(contentBlock(false)))

/** @throws GatewayError body_invalid */
export function messageFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  refuseUnnamedFallbacks(scan)
  const facts = { ...factsFrom(scan, body, containersIn(scan)), showsTools: true as const }
  return scan.findings.some(isThread) ? { ...facts, isThreaded: true } : facts
}

/** What is answered can be gone on from by its name. */
function isThread({ name, type }: Finding): boolean {
  return name === 'thread' && type === 'object'
}

/**
 * The provider's own choice (`"default"`) could be any model, at any price.
 * @throws GatewayError not_supported
 */
function refuseUnnamedFallbacks(scan: ScanResult): void {
  if (findField(scan, 'fallbacks')?.type !== 'string') return
  throw new GatewayError(
    'not_supported',
    'fallbacks must name its models here, such as [{"model": ...}]: what the provider chooses by itself has no price.',
    { param: 'fallbacks' },
  )
}
