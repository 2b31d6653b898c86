import { measureLines } from './anthropic/message-lines.ts'
import { ResponseReader } from './response-reader.ts'
import { isStandardTier, tierUnnamed } from './asked-tier.ts'
import { paidOperation } from './operation-kinds.ts'
import { content, contents } from './google/generate-content.ts'
import { generateNames, interactionNames, measureMetadata } from './google/usage-metadata.ts'
import { tierName } from '../money/consumed-cost.ts'
import { anyOf, list, object, span, value } from './interest.ts'
import {
  addDetail,
  addUsed,
  responseOf,
  type ResponseMeasure,
  type Measure,
  type UsageFields,
} from './measure.ts'
import { names } from './named-objects.ts'
import { searched, strangeMembers } from './naming-members.ts'
import { measureTokens } from './openai/openai-reader.ts'
import { cacheMembers, factsFrom, textMembers } from './request-facts.ts'
import { toolInterest, toolsInterest } from './search-tools.ts'

const files = list(anyOf(names('file'), object({ file_id: names('file') })))
const named = { file_id: names('file'), file_ids: files }
const part = object({
  ...strangeMembers,
  ...named,
  ...cacheMembers,
  file: object(named),
  source: object(named),
  document: object(named),
})
const turn = object({ ...named, ...cacheMembers, content: anyOf(list(part), part) })

/** Providers copied the places that name stored objects from each other. */
const request = searched({
  ...named,
  ...textMembers,
  stream: value('stream'),
  max_tokens: value('cap'),
  max_output_tokens: value('otherCap'),
  n: value('candidates'),
  document: part,
  file: anyOf(names('file'), object(named)),
  files,
  input_file_id: names('file'),
  input_files: files,
  training_file: names('file'),
  training_files: files,
  validation_file: names('file'),
  previous_response_id: names('response'),
  messages: list(turn),
  input: anyOf(list(turn), turn),
  inputs: anyOf(list(turn), turn),
  system: list(part),
  tools: toolsInterest(toolInterest({ ...named, ...cacheMembers }, cacheMembers)),
  contents,
  systeminstruction: content,
  cachedcontent: names('cachedContent'),
})

const text = span('text')
const words = object({ text, content: text, thinking: text, tool_plan: text })
const message = object({
  content: anyOf(text, words, list(words)),
  usage: value('usageStart'),
  model: value('model'),
  tool_calls: span('output'),
})

/** All places where providers are known to report usage, and the most common places of generated text. */
const document = object({
  model: value('model'),
  error: value('error'),
  type: value('type'),
  service_tier: value('tier'),
  text,
  usage: value('usage'),
  usagemetadata: value('usageMetadata'),
  x_groq: object({ usage: value('usage') }),
  response: object({
    service_tier: value('tier'),
    usage: value('usage'),
    model: value('model'),
    error: value('error'),
  }),
  interaction: object({ service_tier: value('tier'), usage: value('usage'), model: value('model') }),
  meta: value('usageMeta'),
  message,
  delta: anyOf(text, object({ text, message, usage: value('usage') })),
  content: anyOf(text, list(words)),
  choices: list(object({ message, delta: message, text })),
  data: span('output'),
})

const response = anyOf(document, list(document))

/** The last events of a stream, in the dialects that name them. */
const lastTypes: ReadonlySet<unknown> = new Set(
  'message-end message_stop response.completed response.incomplete response.failed'.split(' '),
)

/** Reads the usage of an unknown operation by the shape of its numbers. */
class GenericReader extends ResponseReader {
  protected override isLastEvent(_event: string, data: Buffer): boolean {
    return data.length === 6 && data.toString('latin1') === '[DONE]'
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'type' && lastTypes.has(value)) this.markTerminal()
  }

  protected override measure(): ResponseMeasure {
    const measure = this.#measureUsage()
    // The content of an unknown response is unknown too: it counts as output unless it is an error.
    if (measure.lines.length === 0 && !this.hasError) this.hasOutput = true
    const { servedTier } = this
    if (servedTier === undefined) return measure
    return { ...measure, lines: measure.lines.map(line => ({ tier: servedTier, ...line })) }
  }

  protected override get servedTier(): string | undefined {
    const told =
      this.tier ?? this.usage()?.text('service_tier') ?? this.usage('usageMetadata')?.text('serviceTier')
    if (told === undefined) return tierUnnamed(this.context)
    return isStandardTier(told) ? undefined : tierName(told)
  }

  #measureUsage(): ResponseMeasure {
    const meta = this.usage('usageMeta')
    if (meta?.has('billed_units') === true) return responseOf(measureBilledUnits(meta))
    const metadata = this.usage('usageMetadata')
    if (metadata !== undefined) return responseOf(measureMetadata(metadata, generateNames))
    const start = this.usage('usageStart')
    const usage = this.usage() ?? start
    if (usage === undefined) return { lines: [], details: {} }
    return measureByShape(usage, start, this.context.providerKind)
  }
}

function measureByShape(
  usage: UsageFields,
  start: UsageFields | undefined,
  providerKind: string,
): ResponseMeasure {
  if (usage.has('billed_units')) return responseOf(measureBilledUnits(usage))
  if (usage.has('total_input_tokens')) return responseOf(measureMetadata(usage, interactionNames))
  const isAnthropic =
    start !== undefined || usage.has('cache_read_input_tokens', 'cache_creation_input_tokens', 'iterations')
  if (isAnthropic) return measureLines(usage, start)
  return responseOf(measureTokens(usage, providerKind))
}

/** Cohere bills fewer tokens than it reads; the billed tokens determine the price. */
function measureBilledUnits(usage: UsageFields): Measure {
  const billed = usage.within('billed_units')
  const tokens = usage.within('tokens')
  const measure: Measure = { meters: {}, details: {} }
  const input = billed.count('input_tokens')
  const output = billed.count('output_tokens')
  if (input !== undefined) measure.meters.input = input
  if (output !== undefined) measure.meters.output = output
  addUsed(measure.meters, 'searches', billed.count('search_units'))
  addUsed(measure.meters, 'images', billed.count('images'))
  addDetail(measure.details, 'readTokens', tokens.count('input_tokens'))
  addDetail(measure.details, 'writtenTokens', tokens.count('output_tokens'))
  addDetail(measure.details, 'reasoning', tokens.count('reasoning_tokens'))
  return measure
}

/** An unknown operation under a provider's path. */
export const genericOperation = paidOperation('generic', 'input', {
  interest: request,
  // It may read many texts, each by itself, as Cohere's /embed does.
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), mayComeWhole: true, isReadInParts: true }),
  readUsage: (head, context) => new GenericReader(head, context, response),
})
