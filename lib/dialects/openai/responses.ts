import type { ScanResult } from '../../http/json-scan.ts'
import type { ObjectKind, UsageLine } from '../../money/usage.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { type JobKind, jobOperations, freeOperation, paidOperation } from '../operation-kinds.ts'
import { anyOf, list, object, span, value } from '../interest.ts'
import { addUsed, type ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { readBoolean } from '../read-field.ts'
import { factsFrom, textMembers } from '../request-facts.ts'
import { toolsInterest } from '../search-tools.ts'
import { drawingModel, drawnLine, drawnUncounted } from './drawing-tool.ts'
import { containersIn, containersLine, rentsContainers, unseenLine } from '../provider-tools.ts'
import { OpenaiReader, countsSearches } from './openai-reader.ts'
import { withoutEchoes, inputItem, storedPrompt, tool } from './response-input.ts'

/** The members of a request for a response. */
export const requestMembers = {
  ...textMembers,
  stream: value('stream'),
  background: value('background'),
  store: value('store'),
  max_output_tokens: value('cap'),
  previous_response_id: names('response'),
  conversation: anyOf(names('conversation'), object({ id: names('conversation') })),
  prompt: storedPrompt,
  input: anyOf(list(inputItem), inputItem),
  tools: toolsInterest(tool),
}

const responsesRequest = searched(requestMembers)

/** The type of an item of a finished response, and its details. */
const outputType = {
  type: value('outputType'),
  action: object({ type: value('action') }),
  status: value('itemStatus'),
  quality: value('quality'),
}

const outputItem = object({
  id: names('item'),
  ...outputType,
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
  tools: list(
    object({
      type: value('toolRun'),
      model: value('toolModel'),
      quality: value('quality'),
      container: object({ memory_limit: value('memory') }),
    }),
  ),
}

/** A document is the response itself; an event carries the response as a member. Deltas are text of every kind. */
const documentOrEvent = object({
  ...response,
  output: list(outputItem),
  type: value('type'),
  delta: span('text'),
  partial_image_b64: span('output'),
  item: object({ id: names('item'), type: span('output'), container_id: names('container') }),
  response: object({ ...response, output: list(object(outputType)) }),
})

export const lastTypes: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

/** A search tool's other actions are free. */
const freeActions: ReadonlySet<unknown> = new Set(['open_page', 'find', 'find_in_page'])

class ResponsesReader extends OpenaiReader {
  #status: unknown
  #drawsWith: string | undefined
  #searches = 0
  #fileSearches = 0
  /** Images among the items of the complete response. */
  #drawn = 0
  #isDrawnItem = false
  /** Completed images of the stream, and whether part of another has arrived. */
  #images = 0
  #isDrawing = false
  #quality: string | undefined
  #isRenting = false
  #memory: unknown

  protected override nameObject(kind: ObjectKind, id: unknown): void {
    // With `store: false` no later request can refer to the response.
    this.#isRenting ||= kind === 'container'
    const isKept = this.context.facts.isForgotten !== true || kind === 'container'
    if (isKept) super.nameObject(kind, id)
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'status') {
      this.#status = value
      this.hasError ||= value === 'failed'
    } else if (name === 'type') {
      if (value === 'error') this.hasError = true
      if (value === 'response.image_generation_call.partial_image') this.#isDrawing = true
      else if (value === 'response.image_generation_call.completed') {
        this.#images += 1
        this.#isDrawing = false
      }
      if (lastTypes.has(value)) this.markTerminal()
      if (typeof value === 'string' && value.endsWith('_call.in_progress')) this.toolUses += 1
    } else if (name === 'quality') {
      if (typeof value === 'string') this.#quality = value
    } else if (name === 'toolModel') {
      if (typeof value === 'string') this.#drawsWith = value
    } else if (name === 'toolRun') {
      this.#isRenting ||= value === 'code_interpreter'
    } else if (name === 'memory') {
      this.#memory = value
    } else if (name === 'action') {
      if (freeActions.has(value)) this.#searches -= 1
    } else if (name === 'itemStatus') {
      if (this.#isDrawnItem && value === 'failed') this.#drawn -= 1
    } else if (name === 'outputType') {
      this.hasOutput = true
      if (value === 'web_search_call') this.#searches += 1
      if (value === 'file_search_call') this.#fileSearches += 1
      this.#isDrawnItem = value === 'image_generation_call'
      if (this.#isDrawnItem) this.#drawn += 1
    }
  }

  /** A client may disconnect with its image before the usage arrives. */
  protected override get madeBeside(): readonly UsageLine[] {
    const images = Math.max(this.#drawn, this.#images + (this.#isDrawing ? 1 : 0))
    return [this.#uncounted(images), this.#rentedUnseen].filter(one => one !== undefined)
  }

  #uncounted(images: number): UsageLine | undefined {
    return images === 0 ? undefined : drawnUncounted(images, this.#quality, this.#model)
  }

  /** The model that makes images, as the response names it, or the request. */
  get #model(): string | undefined {
    return this.#drawsWith ?? this.context.facts.drawsWith
  }

  /** The container that the request's stored prompt has rented. */
  get #rentedUnseen(): UsageLine | undefined {
    const { facts, providerKind } = this.context
    const mayRent = facts.mayRent === true || facts.startsJob === true
    if (!this.#isRenting || !mayRent || !rentsContainers(providerKind)) return undefined
    return unseenLine(this.#memory)
  }

  protected override jobState(): ReturnType<OpenaiReader['jobState']> {
    if (this.context.facts.startsJob !== true) return undefined
    if (this.#status === 'completed' || this.#status === 'incomplete') return { state: 'done' }
    return { state: this.#status === 'failed' || this.#status === 'cancelled' ? 'failed' : 'running' }
  }

  /**
   * Searches and images made by a tool have counters of their own; without the counters, searches are counted by their
   * items.
   */
  protected override measure(): ResponseMeasure {
    const measure = super.measure()
    const tools = this.usage('usageTools')
    const line = measure.lines[0]
    if (line === undefined) return measure
    const meters = { ...line.meters }
    const usage = this.usage()
    const isCounted = usage !== undefined && countsSearches(usage)
    const seen = isCounted ? 0 : this.#searches
    addUsed(meters, 'searches', tools?.within('web_search').count('num_requests') ?? seen)
    const told = tools && drawnLine(tools, this.#model)
    const drawn = told ?? this.#uncounted(this.#drawn)
    if (drawn !== told) this.flags.add('drawing_uncounted')
    const rented = containersLine(this.context.facts, this.context.providerKind) ?? this.#rentedUnseen
    const beside = [drawn, rented, isCounted ? undefined : fileSearchLine(this.#fileSearches)]
    return {
      ...measure,
      lines: [{ ...line, meters }, ...measure.lines.slice(1), ...beside.filter(one => one !== undefined)],
    }
  }
}

/** Searches in files have a price of their own, or else the price of other searches. */
function fileSearchLine(searches: number): UsageLine | undefined {
  return searches === 0 ? undefined : { meters: { searches }, variant: 'file' }
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new ResponsesReader(head, context, documentOrEvent, 'response')

/** `POST /responses` */
export const responses = paidOperation('responses', 'output', {
  interest: responsesRequest,
  factsFromJson: responsesFacts,
  readUsage,
  namesObjects: true,
})

/** `POST /responses/compact`: shortens a conversation; reports usage, but stores nothing. */
export const responsesCompact: Operation = {
  ...responses,
  name: 'responses-compact',
  // The response is not streamed, even if the request asks for it.
  factsFromJson(scan, body) {
    // No tool runs.
    const { units: _units, unitsVariant: _variant, ...facts } = responsesFacts(scan, body)
    return { ...facts, mayComeWhole: true }
  },
}

/** `POST /responses/input_tokens` */
export const responsesInputTokens = freeOperation('responses-input-tokens', {
  body: 'json',
  modelIn: 'body',
  interest: responsesRequest,
  factsFromJson: responsesFacts,
})

/** Below `/responses/{id}`: a document, or the events of a background response. */
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

/**
 * The facts of a request for a response.
 * @throws GatewayError body_invalid
 */
export function responsesFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const facts = factsFrom({ ...scan, findings: withoutEchoes(scan.findings) }, body, containersIn(scan))
  // The first response comes at once and without usage; the client may never ask for the final one.
  const startsJob = readBoolean(scan, 'background') === true
  const isForgotten = readBoolean(scan, 'store') === false
  const drawsWith = drawingModel(scan)
  return {
    ...facts,
    showsTools: true,
    ...(startsJob && { startsJob }),
    ...(isForgotten && { isForgotten }),
    ...(drawsWith !== undefined && { drawsWith }),
  }
}
