import type { ObjectKind } from '../../money/usage.ts'
import { AnswerReader } from '../answer-reader.ts'
import type { Operation } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { anyOf, list, object, span, value } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { containersLine } from '../rented-containers.ts'
import { measureLines } from './message-lines.ts'
import { messageFacts, messageRequest } from './message-request.ts'

const container = object({ id: names('container') })
/** Files that code wrote stand in the results of its runs. */
const result = object({ file_id: names('file'), content: list(object({ file_id: names('file') })) })
const block = object({
  type: value('block'),
  text: span('text'),
  thinking: span('text'),
  input: span('text'),
  content: anyOf(result, list(result)),
})

/** A document is the message itself; events have it, or changes of it, as members. */
const answer = object({
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

class MessagesReader extends AnswerReader {
  #isRefusal = false
  /** It began to think, of which it may show nothing. */
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

  /** Only code that runs has a container, and the response names it. */
  protected override nameObject(kind: ObjectKind, id: unknown): void {
    this.#hasRunCode ||= kind === 'container'
    super.nameObject(kind, id)
  }

  /** Only a conversation that the provider keeps can be gone on from by the name of its last message. */
  #keep(id: unknown): void {
    if (this.context.facts.isThreaded === true) this.nameObject('thread', id)
  }

  protected override measure(): AnswerMeasure {
    const start = this.usage('usageStart')
    const last = this.usage() ?? start
    if (last === undefined) return { lines: [], details: {} }
    // The opening event knows the prompt, and of the output only how it begins.
    if (last === start) this.flags.add('usage_partial')
    const measure = this.#withContainer(measureLines(last, start))
    if (!this.#isRefusal || this.hasOutput || this.#hasThought) return measure
    // A refusal before any output shows its usage and is not billed.
    this.isFree = true
    this.flags.add('refusal_unbilled')
    return { ...measure, lines: measure.lines.map(line => ({ ...line, meters: { input: 0, output: 0 } })) }
  }

  #withContainer(measure: AnswerMeasure): AnswerMeasure {
    const { facts, providerKind } = this.context
    const line = this.#hasRunCode ? containersLine(facts, providerKind) : undefined
    return line === undefined ? measure : { ...measure, lines: [...measure.lines, line] }
  }
}

/** `POST /messages` */
export const messages: Operation = {
  name: 'messages',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'output',
  interest: messageRequest,
  factsFromJson: messageFacts,
  readUsage: (head, context) => new MessagesReader(head, context, answer),
  namesObjects: true,
}

/** `POST /messages/count_tokens` */
export const countTokens = freeOperation('count-tokens', {
  body: 'json',
  modelIn: 'body',
  interest: messageRequest,
  factsFromJson: messageFacts,
})
