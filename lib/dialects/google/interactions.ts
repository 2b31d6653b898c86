import { GatewayError } from '../../pipeline/errors.ts'
import type { Interest, ScanResult } from '../../http/json-scan.ts'
import { ResponseReader } from '../response-reader.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { paidOperation, type JobKind, jobOperations } from '../operation-kinds.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import { addUsed, responseOf, type ResponseMeasure, type UsageFields } from '../measure.ts'
import { names, namesFile } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { findField, readBoolean, textOf } from '../read-field.ts'
import { googleReasoningMembers } from '../asked-reasoning.ts'
import { demandMembers, factsFrom, googleTier } from '../request-facts.ts'
import { isBilledByPrompt, typedTools } from './generate-content.ts'
import { interactionNames, measureMetadata, readTier } from './usage-metadata.ts'

/** Parts of the input, or turns made of parts, or function results made of parts. */
function inputPart(): Interest {
  const members = new Map<string, Interest>([
    ['type', value('blockType')],
    ['data', base64('media')],
    ['mimetype', value('mediaType')],
    ['uri', namesFile],
  ])
  const part: Interest = { members }
  members.set('content', anyOf(list(part), part))
  members.set('result', anyOf(list(part), part))
  return part
}

const part = inputPart()
const request = searched({
  ...googleTier,
  model: value('model'),
  agent: value('agent'),
  stream: value('stream'),
  background: value('background'),
  previousinteractionid: names('interaction'),
  tools: typedTools,
  responsemodalities: demandMembers.modalities,
  generationconfig: searched({
    maxoutputtokens: value('cap'),
    responsemodalities: demandMembers.modalities,
    ...googleReasoningMembers,
  }),
  environment: anyOf(names('environment'), searched({})),
  input: anyOf(list(part), part),
})

const interaction = {
  id: value('id'),
  environment_id: names('environment'),
  model: value('model'),
  status: value('status'),
  service_tier: value('tier'),
  usage: value('usage'),
}

/** Images and audio; either member may carry the media type. */
const made = { type: value('mediaType'), mime_type: value('mediaType'), data: span('media') }

const response = object({
  ...interaction,
  error: value('error'),
  event_type: value('eventType'),
  interaction: object(interaction),
  steps: list(object({ name: span('output'), content: list(object({ text: span('text') })) })),
  outputs: list(object({ text: span('text'), name: span('output'), ...made })),
  delta: object({ text: span('text'), arguments: span('text'), name: span('output'), ...made }),
})

class InteractionsReader extends ResponseReader {
  #status: unknown

  protected override isLastEvent(event: string): boolean {
    return event === 'done' || event === 'interaction.completed'
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'eventType' && value === 'interaction.completed') this.markTerminal()
    if (name !== 'status') return
    this.#status = value
    if (value === 'failed') this.hasError = true
  }

  /** An interaction that asks for a tool's result has ended: the result begins another one. */
  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    if (this.context.facts.startsJob !== true) return undefined
    if (this.#status === 'failed' || this.#status === 'cancelled') return { state: 'failed' }
    return { state: this.#status === 'in_progress' || this.#status === undefined ? 'running' : 'done' }
  }

  protected override measure(): ResponseMeasure {
    const usage = this.usage()
    const measure = usage && measureMetadata(usage, interactionNames)
    if (usage === undefined || measure === undefined) return { lines: [], details: {} }
    addUsed(measure.meters, 'searches', countSearches(usage, this.model))
    return responseOf({ ...measure, tier: readTier(usage, this.tier, this.context) })
  }
}

function countSearches(usage: UsageFields, model: string | undefined): number {
  const most = isBilledByPrompt(model) ? 1 : Infinity
  let searches = 0
  for (const tool of usage.items('grounding_tool_count')) {
    const type = tool.text('type') ?? ''
    // Maps are billed like searches; retrieval from the client's own files is not.
    if (type.includes('search') || type.includes('maps')) searches += Math.min(most, tool.count('count') ?? 0)
  }
  return searches
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new InteractionsReader(head, context, response, 'interaction')

/** `POST /interactions`. An agent has a price under its own name, like a model. */
export const interactions = paidOperation('interactions', 'output', {
  interest: request,
  factsFromJson: interactionFacts,
  readUsage,
  namesObjects: true,
})

/** Below `/interactions/{id}`. */
export const storedInteractions = jobOperations('interaction', readUsage)

/** Agents may run for an hour. */
export const interactionJobs: JobKind = {
  kind: 'interaction',
  retrieval: storedInteractions.stored,
  path: id => `/interactions/${encodeURIComponent(id)}`,
  durationMsMax: 86_400_000,
}

/** @throws GatewayError body_invalid */
function interactionFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  const facts = factsFrom(scan, body)
  const agent = findField(scan, 'agent')
  if (agent !== undefined && facts.model !== undefined) {
    throw new GatewayError('body_invalid', 'Either "model" or "agent" does the work; send one of them.', {
      param: 'agent',
    })
  }
  // Agents run in the background, whatever the request says.
  const startsJob = agent !== undefined || readBoolean(scan, 'background') === true
  return {
    ...(agent !== undefined && { model: textOf(agent), modelSpan: { start: agent.start, end: agent.end } }),
    ...facts,
    // No document limits what an agent does before it responds.
    ...(agent !== undefined && { tools: [...(facts.tools ?? []), { type: 'agent' }] }),
    ...(startsJob && { startsJob }),
  }
}
