import type { Finding, ScanResult } from '../../http/json-scan.ts'
import type { ObjectKind } from '../../money/usage.ts'
import type {
  AnswerHead,
  BodyLength,
  JobKind,
  Operation,
  RequestFacts,
  UsageReaderContext,
} from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { jobOperations } from '../job-operations.ts'
import { addDetail, addUsed } from '../measure.ts'
import type { AnswerMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { readBoolean } from '../read-field.ts'
import { factsFrom, modelMembers, tierMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

const inputPart = object({
  image_url: anyOf(base64('image'), object({ url: base64('image') })),
  file_id: names('file'),
  file_data: base64('document'),
  file_url: base64('document'),
  input_audio: object({ data: base64('audio') }),
})

/** Outputs of tools hold pictures too, and so do earlier answers that the client sends back. */
const inputItem = object({
  id: names('item'),
  type: value('itemType'),
  role: value('itemRole'),
  encrypted_content: span('itemContent'),
  container_id: names('container'),
  environment: object({ container_id: names('container') }),
  content: list(inputPart),
  output: anyOf(list(inputPart), inputPart),
  result: base64('image'),
})

const skills = list(object({ skill_id: names('skill') }))
const files = list(names('file'))

/** A tool, and what it looks things up in. */
export const tool = object({
  container: anyOf(names('container'), object({ file_ids: files, skills })),
  environment: object({ container_id: names('container'), file_ids: files, skills }),
  input_image_mask: object({ image_url: base64('image'), file_id: names('file') }),
  vector_store_ids: list(names('vectorStore')),
})

const responsesRequest = object({
  ...modelMembers,
  ...tierMembers,
  stream: value('stream'),
  background: value('background'),
  store: value('store'),
  max_output_tokens: value('cap'),
  previous_response_id: names('response'),
  conversation: anyOf(names('conversation'), object({ id: names('conversation') })),
  prompt: object({ id: names('prompt') }),
  input: list(inputItem),
  tools: list(tool),
})

const outputItem = object({
  id: names('item'),
  type: span('output'),
  container_id: names('container'),
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
  item: object({ id: names('item'), type: span('output'), container_id: names('container') }),
  response: object(response),
})

const lastTypes: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

class ResponsesReader extends OpenaiReader {
  #status: unknown

  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, answer, 'response')
  }

  protected override nameObject(kind: ObjectKind, id: unknown): void {
    // With `store: false` nothing of it can be asked for later.
    const isKept = this.context.facts.isForgotten !== true || kind === 'container'
    if (isKept) super.nameObject(kind, id)
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'status') {
      this.#status = value
      this.hasError ||= value === 'failed'
    } else if (name === 'type') {
      if (value === 'error') this.hasError = true
      if (lastTypes.has(value)) this.markTerminal()
    }
  }

  protected override jobState(): ReturnType<OpenaiReader['jobState']> {
    if (this.context.facts.startsJob !== true) return undefined
    if (this.#status === 'completed' || this.#status === 'incomplete') return { state: 'done' }
    return { state: this.#status === 'failed' || this.#status === 'cancelled' ? 'failed' : 'running' }
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

const readUsage: NonNullable<Operation['readUsage']> = (head, context) => new ResponsesReader(head, context)

/** `POST /responses` */
export const responses: Operation = {
  name: 'responses',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'output',
  interest: responsesRequest,
  factsFromJson: responsesFacts,
  readUsage,
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

/** Below `/responses/{id}`: a document, or the events of one that is made in the background. */
export const storedResponses = jobOperations('response', readUsage)

/** `GET /responses/{id}/input_items` */
export const responseInputItems = freeOperation('response-input-items')

/** Background responses, which take minutes. */
export const responseJobs: JobKind = {
  kind: 'response',
  retrieval: storedResponses.stored,
  path: id => `/responses/${encodeURIComponent(id)}`,
  durationMsMax: 86_400_000,
}

function responsesFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const facts = factsFrom({ findings: withoutEchoes(scan.findings) }, body)
  // The answer comes at once and without usage; the client may never ask for the rest.
  const startsJob = readBoolean(scan, 'background') === true
  const isForgotten = readBoolean(scan, 'store') === false
  return { ...facts, ...(startsJob && { startsJob }), ...(isForgotten && { isForgotten }) }
}

/**
 * Most items that a client sends back are whole, and their ids are labels. Those of these types, and those
 * without a type or role, stand for what the provider has kept, unless they have their content with them.
 */
const referenceTypes: ReadonlySet<unknown> = new Set([
  null,
  'item_reference',
  'reasoning',
  'image_generation_call',
])

/** The findings less the ids of items that stand there in full. */
export function withoutEchoes(findings: ScanResult['findings']): ScanResult['findings'] {
  const whole = new Set<string>()
  for (const finding of findings) {
    if (isSignOfWhole(finding)) whole.add(finding.path.slice(0, finding.path.lastIndexOf('.')))
  }
  if (whole.size === 0) return findings
  return findings.filter(
    ({ name, path }) => name !== 'names:item' || !whole.has(path.slice(0, path.lastIndexOf('.'))),
  )
}

function isSignOfWhole({ name, path, type, raw }: Finding): boolean {
  if (name === 'itemType') return !referenceTypes.has(parsed(raw))
  if (type !== 'string') return false
  return name === 'itemRole' || name === 'itemContent' || (name === 'image' && path.endsWith('.result'))
}

function parsed(raw: Buffer | undefined): unknown {
  return raw === undefined ? undefined : JSON.parse(raw.toString('utf8'))
}
