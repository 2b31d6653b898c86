import type { ScanResult } from '../../http/json-scan.ts'
import { GatewayError } from '../../errors.ts'
import type { NamedObject } from '../../money/usage.ts'
import type { AnswerHead, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { addDetail, addUsed } from '../measure.ts'
import type { AnswerMeasure } from '../measure.ts'
import { findAllTexts, readBoolean } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

const inputPart = object({
  image_url: anyOf(base64('image'), object({ url: base64('image') })),
  file_id: value('fileId'),
  file_data: base64('document'),
  file_url: base64('document'),
  input_audio: object({ data: base64('audio') }),
})

/** Outputs of tools hold pictures too, and so do earlier answers that the client sends back. */
const inputItem = object({
  content: list(inputPart),
  output: anyOf(list(inputPart), inputPart),
  result: base64('image'),
})

const tool = object({
  container: anyOf(value('containerId'), object({ file_ids: list(value('fileId')) })),
  input_image_mask: object({ image_url: base64('image'), file_id: value('fileId') }),
})

const responsesRequest = object({
  model: value('model'),
  stream: value('stream'),
  background: value('background'),
  max_output_tokens: value('cap'),
  previous_response_id: value('responseId'),
  conversation: anyOf(value('conversationId'), object({ id: value('conversationId') })),
  input: list(inputItem),
  tools: list(tool),
})

const outputItem = object({
  type: span('output'),
  container_id: value('container'),
  arguments: span('text'),
  input: span('text'),
  content: list(object({ text: span('text'), refusal: span('text') })),
  summary: list(object({ text: span('text') })),
})

const response = {
  id: value('id'),
  model: value('model'),
  status: value('status'),
  service_tier: value('tier'),
  error: value('error'),
  usage: value('usage'),
  tool_usage: value('usageTools'),
}

/** A document is the response itself, an event has it as a member. Deltas are text of every kind. */
const answer = object({
  ...response,
  output: list(outputItem),
  type: value('type'),
  delta: span('text'),
  partial_image_b64: span('output'),
  item: object({ type: span('output'), container_id: value('container') }),
  response: object(response),
})

const lastTypes: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

class ResponsesReader extends OpenaiReader {
  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, answer, 'response')
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'container') this.nameObject('container', value)
    else if (name === 'status') this.hasError ||= value === 'failed'
    else if (name === 'type') {
      if (value === 'error') this.hasError = true
      if (lastTypes.has(value)) this.markTerminal()
    }
  }

  /** Searches have a counter of their own; tokens of pictures drawn by a tool are kept beside. */
  protected override measure(): AnswerMeasure {
    const measure = super.measure()
    const tools = this.usage('usageTools')
    const line = measure.lines[0]
    if (tools === undefined || line === undefined) return measure
    const meters = { ...line.meters }
    addUsed(meters, 'searches', tools.within('web_search').count('num_requests'))
    const images = tools.within('image_gen')
    const details = { ...measure.details }
    addDetail(details, 'imageToolInput', images.count('input_tokens'))
    addDetail(details, 'imageToolOutput', images.count('output_tokens'))
    // Whether `usage` includes these tokens is not known, so an operator should look.
    if ((images.count('total_tokens') ?? 0) > 0) this.flags.add('usage_unpriced')
    return { lines: [{ ...line, meters }], details }
  }
}

/** `POST /responses` */
export const responses: Operation = {
  name: 'responses',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'output',
  interest: responsesRequest,
  factsFromJson: responsesFacts,
  readUsage: (head, context) => new ResponsesReader(head, context),
  namesObjects: true,
}

/** `POST /responses/compact`: shortens a conversation; has a usage, but stores nothing. */
export const responsesCompact: Operation = { ...responses, name: 'responses-compact' }

/** `POST /responses/input_tokens` */
export const responsesInputTokens = freeOperation('responses-input-tokens', {
  body: 'json',
  modelIn: 'body',
  interest: responsesRequest,
  factsFromJson: responsesFacts,
})

/** `GET` and `DELETE /responses/{id}`, its input items, cancelling: the usage was charged when it was made. */
export const storedResponse = freeOperation('stored-response')

function responsesFacts(scan: ScanResult, body: Buffer): RequestFacts {
  if (readBoolean(scan, 'background') === true) {
    // The answer comes at once and without usage; the client may never ask for the rest.
    throw new GatewayError('not_supported', 'Background responses are not in this release; leave it out.', {
      param: 'background',
    })
  }
  const named = (name: string, kind: NamedObject['kind']): readonly NamedObject[] =>
    findAllTexts(scan, name).map(id => ({ kind, id }))
  const objects = [
    ...named('responseId', 'response'),
    ...named('conversationId', 'conversation'),
    ...named('fileId', 'file'),
    ...named('containerId', 'container'),
  ]
  return factsFrom(scan, body, { objects })
}
