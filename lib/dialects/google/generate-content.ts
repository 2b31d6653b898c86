import type { Interest, ScanResult } from '../../http/json-scan.ts'
import { ResponseReader } from '../response-reader.ts'
import type { BodyLength, Operation, RequestFacts } from '../dialect.ts'
import { freeOperation, paidOperation } from '../operation-kinds.ts'
import { anyOf, list, object, span, value, base64 } from '../interest.ts'
import { addUsed, responseOf, type ResponseMeasure } from '../measure.ts'
import { names, namesFile } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { googleReasoningMembers } from '../asked-reasoning.ts'
import { demandMembers, factsFrom, googleTier, sameModel } from '../request-facts.ts'
import { generateNames, measureMetadata, readTier } from './usage-metadata.ts'
import { googleTool, toolInterest, toolsInterest } from '../search-tools.ts'
import { videoMembers } from '../read-media.ts'

/** Keys are folded without underscores, since Google accepts snake and camel case. */
function contentPart(): Interest {
  const members = new Map<string, Interest>([
    ['inlinedata', object({ mimetype: value('mediaType'), data: base64('media') })],
    ...Object.entries(videoMembers),
    ['filedata', object({ mimetype: value('mediaType'), fileuri: namesFile })],
  ])
  const part: Interest = { members }
  members.set('functionresponse', object({ parts: anyOf(list(part), part) }))
  return part
}

/** A part of a content: text, media, or an uploaded file by its name. */
export const part = contentPart()
/** Lists of one item may be written without brackets. */
export const content = object({ parts: anyOf(list(part), part) })
/** A conversation: a list of contents, or a single one without brackets. */
export const contents = anyOf(list(content), content)

/** Tools of every method but `interactions`. */
export const tools = anyOf(list(googleTool), googleTool)
/** The tools of interactions have a type, like OpenAI's. */
export const typedTools = toolsInterest(toolInterest())

/** No response makes this many different searches. */
const queriesMax = 1000

/** Where a candidate reports its searches, under names with a prefix. */
export function groundingInterest(prefix = ''): Interest {
  return object({
    websearchqueries: list(value(`${prefix}query`)),
    imagesearchqueries: list(value(`${prefix}imageQuery`)),
    groundingchunks: list(object({ maps: span(`${prefix}maps`) })),
  })
}

/** The searches of one response, which no usage field reports. */
export class Grounding {
  readonly #queries = new Set<string>()
  #hasMaps = false

  /** Receives a value that the interest found; returns false if it is not about grounding. */
  take(name: string, found: unknown): boolean {
    if (name === 'maps') this.#hasMaps = true
    else if (name !== 'query' && name !== 'imageQuery') return false
    else if (typeof found === 'string' && found.trim() !== '' && this.#queries.size < queriesMax)
      // The same query may search pages and images.
      this.#queries.add(`${name} ${found}`)
    return true
  }

  /**
   * Gemini 2 bills a grounded prompt once, and once more for maps; Gemini 3 bills every distinct query, of which those
   * to maps are not reported.
   */
  count(model: string | undefined): number {
    const maps = this.#hasMaps ? 1 : 0
    return isBilledByPrompt(model)
      ? Math.min(1, this.#queries.size) + maps
      : Math.max(maps, this.#queries.size)
  }
}

/** Whether a model's searches are billed once per prompt: those of Gemini 2. */
export function isBilledByPrompt(model: string | undefined): boolean {
  return /^(?:models\/)?gemini-[12]\b/.test(model ?? '')
}

const request = searched({
  ...googleTier,
  ...sameModel,
  contents,
  systeminstruction: content,
  tools,
  cachedcontent: names('cachedContent'),
  generationconfig: searched({
    maxoutputtokens: value('cap'),
    candidatecount: value('candidates'),
    responsemodalities: demandMembers.modalities,
    ...googleReasoningMembers,
  }),
})

/** A count request may also contain the whole request as a member. */
const countRequest: Interest = searched({
  ...sameModel,
  contents,
  systeminstruction: content,
  tools,
  generatecontentrequest: request,
})

const responsePart = object({
  text: span('text'),
  functioncall: object({ name: span('output'), args: span('text') }),
  inlinedata: object({ mimetype: value('mediaType'), data: span('media') }),
  executablecode: object({ code: span('text') }),
})

const chunk = object({
  usagemetadata: value('usage'),
  modelversion: value('model'),
  responseid: value('requestId'),
  error: value('error'),
  promptfeedback: object({ blockreason: value('blocked') }),
  candidates: list(
    object({
      finishreason: value('finish'),
      content: object({ parts: list(responsePart) }),
      groundingmetadata: groundingInterest(),
    }),
  ),
})

/** One response: an event each, or a JSON array of chunks that grows with the response. */
const response = anyOf(chunk, list(chunk))

class GenerateContentReader extends ResponseReader {
  readonly #grounding = new Grounding()
  #candidatesMost = 0
  #finished = 0

  protected override onValue(name: string, value: unknown): void {
    if (name === 'blocked' || name === 'finish') {
      if (value === '') return
      // Each candidate ends separately.
      this.#finished += name === 'blocked' ? this.context.facts.candidates : 1
      if (this.#finished >= this.context.facts.candidates) this.markTerminal()
    } else this.#grounding.take(name, value)
  }

  protected override onUsage(_name: string, value: object): void {
    const { candidatesTokenCount: count } = value as { readonly candidatesTokenCount?: unknown }
    if (typeof count === 'number' && count > this.#candidatesMost) this.#candidatesMost = count
  }

  /** The last count is the billed one, but it has been seen to omit what was counted before. */
  protected override measure(): ResponseMeasure {
    const usage = this.usage()
    const measure = usage && measureMetadata(usage, generateNames)
    if (usage === undefined || measure === undefined) return { lines: [], details: {} }
    const last = usage.number('candidatesTokenCount') ?? 0
    if (last < this.#candidatesMost) this.flags.add('usage_decreased')
    this.addMade(measure.meters)
    addUsed(measure.meters, 'searches', this.#grounding.count(this.model))
    return responseOf({ ...measure, tier: readTier(usage, this.tier, this.context) })
  }
}

/** `POST /models/{model}:generateContent` */
export const generateContent = paidOperation('generate-content', 'output', {
  modelIn: 'path',
  interest: request,
  factsFromJson: (scan, body) => facts(scan, body, false),
  readUsage: (head, context) => new GenerateContentReader(head, context, response),
})

/** `POST /models/{model}:streamGenerateContent`, as events (`?alt=sse`) or as a JSON array. */
export const streamGenerateContent: Operation = {
  ...generateContent,
  name: 'stream-generate-content',
  factsFromJson: (scan, body) => facts(scan, body, true),
}

/** `POST /models/{model}:countTokens` */
export const countTokens = freeOperation('count-tokens', {
  body: 'json',
  modelIn: 'path',
  interest: countRequest,
  factsFromJson: (scan, body) => facts(scan, body, false),
})

function facts(scan: ScanResult, body: BodyLength, isStreaming: boolean): RequestFacts {
  return factsFrom(scan, body, { isStreaming })
}
