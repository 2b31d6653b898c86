import type { ObjectKind } from '../../money/usage.ts'
import { ResponseReader } from '../response-reader.ts'
import { tierUnnamed } from '../asked-tier.ts'
import type { BodyLength, RequestFacts } from '../dialect.ts'
import { freeOperation, paidOperation } from '../operation-kinds.ts'
import { anyOf, list, object, span, value, base64 } from '../interest.ts'
import type { ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { containersLine, containersIn } from '../provider-tools.ts'
import { measureLines } from './message-lines.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { Finding, Interest, ScanResult } from '../../http/json-scan.ts'
import { searched, unread, strangeMembers } from '../naming-members.ts'
import { findField } from '../read-field.ts'
import { toolInterest, toolsInterest } from '../search-tools.ts'
import { cacheMembers, factsFrom, textMembers } from '../request-facts.ts'

const strange = Object.entries(strangeMembers)

/**
 * A content block. Tool results, and documents made of blocks, contain blocks, so the tree is recursive. Batches leave
 * out the type of every block, since they contain hundreds of thousands of blocks.
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
    // URLs of search results, tool inputs and earlier thoughts: the provider fetches none of them again.
    ...['url', 'uri', 'input', 'data', 'thinking'].map(name => [name, unread] as const),
    ...(isTyped ? [['type', value('blockType')] as const] : []),
    ['source', { members: source }],
    ['file_id', names('file')],
    // A tool added during the conversation.
    ['tool', searched({ definition: tool })],
    ...Object.entries(cacheMembers),
  ])
  const block: Interest = { members }
  const blocks = anyOf(list(block), block)
  members.set('content', blocks)
  source.set('content', blocks)
  return block
}

/** A tool, which may name a model of its own. */
const tool = toolInterest(cacheMembers)

function messageInterest(content: Interest): Interest {
  return searched({
    ...textMembers,
    stream: value('stream'),
    max_tokens: value('cap'),
    system: content,
    messages: list(object({ content: anyOf(content, content.items ?? {}) })),
    tools: toolsInterest(tool),
    // Only compared with, not continued.
    diagnostics: unread,
    thread: object({ previous_message_id: names('thread') }, span('thread')),
    fallbacks: anyOf(value('fallbacks'), list(searched({}))),
    container: anyOf(names('container'), searched({ id: names('container') })),
  })
}

/** The body of `/messages` and of counting its tokens. */
const messageRequest = messageInterest(list(contentBlock(true)))

/** The same body inside a batch. */
export const batchedMessage = messageInterest(list(contentBlock(false)))

/** @throws GatewayError body_invalid */
function messageFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  refuseUnnamedFallbacks(scan)
  const facts = { ...factsFrom(scan, body, containersIn(scan)), showsTools: true as const }
  return scan.findings.some(isThread) ? { ...facts, isThreaded: true } : facts
}

/** A response in a stored thread can be continued by its id. */
function isThread({ name, type }: Finding): boolean {
  return name === 'thread' && type === 'object'
}

/**
 * With `"default"` the provider could choose any model, at any price.
 * @throws GatewayError not_supported
 */
function refuseUnnamedFallbacks(scan: ScanResult): void {
  if (findField(scan, 'fallbacks')?.type !== 'string') return
  throw new GatewayError(
    'not_supported',
    'fallbacks must name its models here, such as [{"model": ...}]: a model that the provider chooses has no price here.',
    { param: 'fallbacks' },
  )
}

const container = object({ id: names('container') })
/** Files that code wrote are listed in the results of its runs. */
const result = object({ file_id: names('file'), content: list(object({ file_id: names('file') })) })
const block = object({
  type: value('block'),
  text: span('text'),
  thinking: span('text'),
  input: span('text'),
  content: anyOf(result, list(result)),
})

/** A whole document is the message itself; events carry the message, or its changes, as members. */
const response = object({
  id: value('messageId'),
  type: value('type'),
  error: value('error'),
  model: value('model'),
  content: list(block),
  stop_reason: value('stopReason'),
  usage: value('usage'),
  container,
  message: object({ id: value('messageId'), model: value('model'), usage: value('usageStart'), container }),
  content_block: block,
  delta: object({
    text: span('text'),
    thinking: span('text'),
    partial_json: span('text'),
    stop_reason: value('stopReason'),
    container,
  }),
})

class MessagesReader extends ResponseReader {
  #isRefusal = false
  /** Thinking has begun; the provider may show none of it. */
  #hasThought = false
  #hasRunCode = false

  protected override onValue(name: string, value: unknown): void {
    if (name === 'messageId') this.#keep(value)
    else if (name === 'stopReason') this.#isRefusal = value === 'refusal'
    else if (name === 'type' && value === 'message_stop') this.markTerminal()
    else if (name === 'block' && value === 'thinking') this.#hasThought = true
    else if (name === 'block' && value !== 'text') {
      this.hasOutput = true
      if (value === 'server_tool_use' || value === 'mcp_tool_use') this.toolUses += 1
    }
  }

  /** Only a request that runs code has a container, and the response names it. */
  protected override nameObject(kind: ObjectKind, id: unknown): void {
    this.#hasRunCode ||= kind === 'container'
    super.nameObject(kind, id)
  }

  /** Only a conversation that the provider stores can be continued by the id of its last message. */
  #keep(id: unknown): void {
    if (this.context.facts.isThreaded === true) this.nameObject('thread', id)
  }

  protected override measure(): ResponseMeasure {
    const start = this.usage('usageStart')
    const last = this.usage() ?? start
    if (last === undefined) return { lines: [], details: {} }
    // The opening event reports the prompt, but only the first output tokens.
    if (last === start) this.flags.add('usage_partial')
    const measure = this.#withContainer(measureLines(last, start, tierUnnamed(this.context)))
    if (!this.#isRefusal || this.hasOutput || this.#hasThought) return measure
    // A refusal before any output reports usage and is not billed.
    this.isFree = true
    this.flags.add('refusal_unbilled')
    return { ...measure, lines: measure.lines.map(line => ({ ...line, meters: { input: 0, output: 0 } })) }
  }

  #withContainer(measure: ResponseMeasure): ResponseMeasure {
    const { facts, providerKind } = this.context
    const line = this.#hasRunCode ? containersLine(facts, providerKind) : undefined
    return line === undefined ? measure : { ...measure, lines: [...measure.lines, line] }
  }
}

/** `POST /messages` */
export const messages = paidOperation('messages', 'output', {
  interest: messageRequest,
  factsFromJson: messageFacts,
  readUsage: (head, context) => new MessagesReader(head, context, response),
  namesObjects: true,
})

/** `POST /messages/count_tokens` */
export const countTokens = freeOperation('count-tokens', {
  body: 'json',
  modelIn: 'body',
  interest: messageRequest,
  factsFromJson: messageFacts,
})
