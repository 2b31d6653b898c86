import type { ScanResult } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { BodyLength, RequestFacts } from '../dialect.ts'
import { paidOperation } from '../operation-kinds.ts'
import { anyOf, base64, list, object, span, value } from '../interest.ts'
import type { ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched, unread, strangeMembers } from '../naming-members.ts'
import { findField, readBoolean, textOf, wrongType } from '../read-field.ts'
import { cacheMembers, factsFrom, textMembers } from '../request-facts.ts'
import { googleTool, toolInterest, toolsInterest } from '../search-tools.ts'
import { OpenaiReader, countsSearches } from './openai-reader.ts'
import { knownProvider } from '../../providers/known-providers.ts'

/** An image's address: `image_url: "..."` or `image_url: {url: "..."}`. */
const imageUrl = anyOf(base64('image'), object({ ...strangeMembers, url: base64('image') }))

/** One part of a message's content, in the spellings of OpenAI and of providers that copied its format. */
const contentPart = object({
  ...strangeMembers,
  image_url: imageUrl,
  input_image: imageUrl,
  input_audio: anyOf(base64('audio'), object({ ...strangeMembers, data: base64('audio') })),
  audio_url: anyOf(base64('audio'), object({ ...strangeMembers, url: base64('audio') })),
  video_url: anyOf(base64('video'), object({ ...strangeMembers, url: base64('video') })),
  document_url: anyOf(base64('document'), object({ ...strangeMembers, url: base64('document') })),
  file: anyOf(
    base64('document'),
    object({ ...strangeMembers, file_data: base64('document'), file_id: names('file') }),
  ),
  file_id: names('file'),
  ...cacheMembers,
})

const thinkingConfig = { thinking_budget: value('reasoningBudget'), thinking_level: value('reasoningEffort') }
/** Gemini's own options, as its OpenAI endpoint accepts them. */
const geminiOptions = searched({
  // Google accepts camel case for the same.
  cachedcontent: names('cachedContent'),
  thinking_config: searched(thinkingConfig),
  tools: anyOf(googleTool, list(googleTool)),
})

/** The common members of messages beside their content; an exact match skips the search for names. */
const commonMembers = { role: unread, name: unread, tool_calls: unread, tool_call_id: unread }

/** `stream_options`: its position and its `include_usage` matter. */
export const streamOptionsInterest = object({ include_usage: value('includeUsage') }, value('streamOptions'))

const request = searched({
  ...textMembers,
  stream: value('stream'),
  stream_options: streamOptionsInterest,
  max_tokens: value('cap'),
  max_completion_tokens: value('otherCap'),
  n: value('candidates'),
  audio: searched({}, span('audioOut')),
  search_type: value('searchType'),
  deferred: value('deferred'),
  messages: list(
    searched({
      ...commonMembers,
      ...cacheMembers,
      content: anyOf(list(contentPart), contentPart),
      audio: object({ id: names('audio') }),
    }),
  ),
  tools: toolsInterest(toolInterest(cacheMembers, cacheMembers)),
  google: geminiOptions,
  extra_body: searched({ google: geminiOptions }),
})

/** The generated content of a message or of its delta. */
const thinkingPart = object({ text: span('text') })
const generated = object({
  content: anyOf(span('text'), list(object({ text: span('text'), thinking: list(thinkingPart) }))),
  reasoning_content: span('text'),
  reasoning: span('text'),
  refusal: span('text'),
  tool_calls: list(
    object({ function: object({ name: span('output'), arguments: span('text') }) }, span('output')),
  ),
  function_call: object({ arguments: span('text') }, span('output')),
  executed_tools: list(object({ index: value('executedIndex'), type: value('executedType') })),
  audio: object({ id: names('audio'), transcript: span('text'), data: span('audio') }),
  // OpenRouter's models that make images: https://openrouter.ai/docs/features/multimodal/image-generation
  images: list(object({}, span('drawn'))),
})

/** Usage is read wherever it is, whatever else the chunk contains: providers put it in different places. */
const response = object({
  object: value('object'),
  model: value('model'),
  service_tier: value('tier'),
  error: value('error'),
  usage: value('usage'),
  x_groq: object({ usage: value('usage'), error: value('error') }),
  // Moonshot's streams have it in their last choice.
  choices: list(
    object({ message: generated, delta: generated, error: value('error'), usage: value('usage') }),
  ),
})

/** Models that search for every response without reporting it in their usage. */
const searchModel = /-search-(?:preview|api)\b/

class ChatReader extends OpenaiReader {
  /** The members of the current tool, which come in either order. */
  #executed: { index?: unknown; type?: unknown } = {}
  /** The searches that Groq's messages list. Each has one index, which several events may repeat. */
  readonly #searches = new Set<unknown>()

  protected override onValue(name: string, value: unknown): void {
    // Perplexity sends no [DONE].
    if (name === 'object' && value === 'chat.completion.done') this.markTerminal()
    else if (name === 'executedIndex') this.#takeExecuted({ index: value })
    else if (name === 'executedType') this.#takeExecuted({ type: value })
  }

  #takeExecuted(found: { index?: unknown; type?: unknown }): void {
    const { index, type } = { ...this.#executed, ...found }
    const isWhole = index !== undefined && type !== undefined
    if (isWhole && typeof type === 'string' && type.includes('search')) this.#searches.add(index)
    this.#executed = isWhole ? {} : { index, type }
  }

  protected override measure(): ResponseMeasure {
    const measure = super.measure()
    const [line] = measure.lines
    if (line === undefined || line.meters.searches !== undefined) return measure
    const searches = this.#searchesUnseen
    if (searches === 0) return measure
    return {
      ...measure,
      lines: [{ ...line, meters: { ...line.meters, searches } }, ...measure.lines.slice(1)],
    }
  }

  /** If nothing reports the number of searches, a request with a search tool counts as one search. */
  get #searchesUnseen(): number {
    const { facts, providerKind } = this.context
    if (this.#searches.size > 0) return this.#searches.size
    if (searchModel.test(this.model ?? facts.model ?? '')) return 1
    const usage = this.usage()
    if (knownProvider(providerKind).tellsSearches === true || usage === undefined || countsSearches(usage))
      return 0
    return Math.min(1, facts.searches ?? 0)
  }
}

/** `POST /chat/completions` */
export const chat = paidOperation('chat', 'output', {
  interest: request,
  factsFromJson: chatFacts,
  readUsage: (head, context) => new ChatReader(head, context, response),
})

/** The extra cost of Perplexity's multi-step search: https://docs.perplexity.ai/getting-started/pricing. */
const proSearchUsd = 0.008

/** The response states it with the cost, in no meter of the usage. */
function isProSearch(scan: ScanResult): boolean {
  const type = findField(scan, 'searchType')
  return type !== undefined && textOf(type) !== 'fast'
}

/** @throws GatewayError body_invalid, not_supported */
function chatFacts(scan: ScanResult, body: BodyLength): RequestFacts {
  // xAI returns such a response only once: a gateway that fetched it for its usage would take it from the client.
  if (readBoolean(scan, 'deferred') === true) {
    throw new GatewayError(
      'not_supported',
      'Deferred completions are returned only once, so they cannot be charged and are not forwarded. Ask for a stream, a response in the background, or a batch.',
      { param: 'deferred' },
    )
  }
  const splice = usageSplice(scan)
  const facts = factsFrom(scan, body, {
    ...(splice !== undefined && { usageSplice: splice }),
    ...(isProSearch(scan) && { units: { statedUsd: proSearchUsd } }),
  })
  // Audio responses have an id from which the next request may continue.
  return findField(scan, 'audioOut') === undefined ? facts : { ...facts, makesObjects: true }
}

/**
 * What to insert into a streaming request so that the response reports its usage: the smallest possible change, while
 * everything else stays as it was sent. Undefined if the request already asks for usage.
 * @throws GatewayError body_invalid
 */
export function usageSplice(scan: ScanResult): RequestFacts['usageSplice'] {
  const stream = findField(scan, 'stream')
  if (stream?.type !== 'true') return undefined
  const options = scan.findings.find(finding => finding.name === 'streamOptions')
  if (options === undefined) return insertion(stream.end, ',"stream_options":{"include_usage":true}')
  if (options.type === 'null') return replacement(options.start, options.end, '{"include_usage":true}')
  if (options.type !== 'object') throw wrongType(options, 'an object')
  if (readBoolean(scan, 'includeUsage') === true) return undefined
  const includeUsage = scan.findings.find(finding => finding.name === 'includeUsage')
  if (includeUsage !== undefined) return replacement(includeUsage.start, includeUsage.end, 'true')
  const isEmpty = options.raw === undefined || /^\{\s*\}$/.test(options.raw.toString('latin1'))
  return insertion(options.start + 1, isEmpty ? '"include_usage":true' : '"include_usage":true,')
}

function insertion(at: number, text: string): RequestFacts['usageSplice'] {
  return replacement(at, at, text)
}

function replacement(start: number, end: number, text: string): RequestFacts['usageSplice'] {
  return { span: { start, end }, bytes: Buffer.from(text) }
}
