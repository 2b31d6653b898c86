import { BatchSum, batchReading, textBytesOf } from '../batch-results.ts'
import { ResponseReader } from '../response-reader.ts'
import type { HeadFacts, UsageReaderContext } from '../dialect.ts'
import { list, object, span, value } from '../interest.ts'
import { lineOf, UsageFields, type ResponseMeasure } from '../measure.ts'
import type { JobSighting, Meters, UsageLine, UsageReading } from '../../money/usage.ts'
import { measureTokens, ticksPerUsd } from './openai-reader.ts'
import { failedStatuses, secondsOf } from './videos.ts'

const pageSize = 1000

/** The path of a batch's results, page by page. */
function resultsPath(id: string, token?: string): string {
  const next = token === undefined ? '' : `&pagination_token=${encodeURIComponent(token)}`
  return `/batches/${encodeURIComponent(id)}/results?limit=${pageSize}${next}`
}

/** The batch to which a part belongs. */
export function batchOfPart(id: string): string {
  const end = id.lastIndexOf('#')
  return end === -1 ? id : id.slice(0, end)
}

/** The members of interest in an xAI batch, which has counts instead of a status. */
export const xaiCounts = {
  state: object({ num_requests: value('requests'), num_pending: value('pending') }),
  cancel_time: value('cancelTime'),
}

/** The state of a batch by its counts. */
export class XaiCounts {
  #requests: number | undefined
  #pending = 0
  #isCanceled = false

  take(name: string, value: unknown): void {
    if (name === 'requests') this.#requests = Number(value)
    if (name === 'pending') this.#pending = Number(value)
    if (name === 'cancelTime') this.#isCanceled = true
  }

  get isTold(): boolean {
    return this.#requests !== undefined
  }

  /** xAI is still checking a batch without requests, unless it canceled the batch because the check failed. */
  state(id: string): Omit<JobSighting, 'kind' | 'id'> {
    const isFinal = this.#isCanceled
    if (this.#pending > 0 || ((this.#requests ?? 0) === 0 && !isFinal)) return { state: 'running' }
    return { state: 'done', resultsPath: resultsPath(id), ...(isFinal && { isFinal }) }
  }
}

// Results are under the name of the endpoint; those of `/v1/responses` are chat completions too.
const text = value('resultText')
const body = object(
  {
    model: value('resultModel'),
    usage: value('resultTokens'),
    choices: list(
      object({
        message: object({
          content: text,
          reasoning_content: text,
          tool_calls: list(object({ function: object({ arguments: text }) })),
        }),
      }),
    ),
  },
  span('answer'),
)
// Results of images or videos, under any other name.
const media = object(
  {
    data: list(span('image'), span('images')),
    video: object({ duration: value('seconds') }),
    status: value('mediaStatus'),
    usage: object({ cost_in_usd_ticks: value('costTicks') }),
  },
  span('mediaResult'),
)
const response = object({ chat_get_completion: body, responses: body, '*': media })
const result = object(
  { batch_request_id: value('resultId'), batch_result: object({ response }) },
  span('result'),
)
const page = object({ results: list(result), pagination_token: value('next') })

interface MediaResult {
  images?: number
  seconds?: number
  costUsd?: number
  hasFailed?: boolean
}

interface Result {
  id?: unknown
  model?: unknown
  answers: number
  textBytes: number
  media?: MediaResult
  readonly used: { readonly line: UsageLine; readonly details: ResponseMeasure['details'] }[]
}

/**
 * Reads a page of the results of an xAI batch. It also lists failed requests, which are not billed. For a part of the
 * batch only the requests added with it count.
 */
export class XaiResultsReader extends ResponseReader {
  readonly #sum = new BatchSum()
  readonly #wanted: ReadonlySet<unknown> | undefined
  #result: Result = newResult()
  #results = 0
  #answers = 0
  #next = ''

  constructor(head: HeadFacts, context: UsageReaderContext) {
    super(head, context, page)
    const ids = context.facts.batch?.requestIds
    this.#wanted = ids === undefined ? undefined : new Set(ids)
  }

  override end(): UsageReading {
    const { isTerminal } = super.end()
    this.#endResult()
    return batchReading(this.#sum, this.flags, { isTerminal, job: this.#sighting() })
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'result') this.#endResult()
    if (name === 'resultId') this.#result.id = value
    if (name === 'answer') this.#result.answers += 1
    if (name === 'resultText') this.#result.textBytes += textBytesOf(value)
    if (name === 'resultModel') this.#result.model = value
    if (name === 'next' && typeof value === 'string') this.#next = value
    if (name === 'mediaResult') this.#result.media = {}
    if (this.#result.media !== undefined) takeMedia(this.#result.media, name, value)
    if (name !== 'resultTokens') return
    const measure = measureTokens(new UsageFields(value, this.flags), this.context.providerKind)
    if (measure === undefined) return
    this.#result.used.push({ line: { meters: measure.meters, tier: 'batch' }, details: measure.details })
  }

  /** Called at the end of a result, since its members come in any order. */
  #endResult(): void {
    const { id, model, media, used, answers, textBytes } = this.#result
    this.#result = newResult()
    if (this.#wanted?.has(id) === false) return
    const isMade = media !== undefined && media.hasFailed !== true
    if (isMade) for (const { line, details } of this.#mediaUses(media)) this.#sum.add(line, details)
    if (answers > 0) {
      const told = { lines: used.map(({ line }) => line), details: used[0]?.details ?? {} }
      const name = typeof model === 'string' ? model : undefined
      this.#sum.addResult(told, { model: name, hasOutput: textBytes > 0, textBytes }, this.flags)
    }
    const count = answers + (isMade ? 1 : 0)
    if (this.#wanted !== undefined || count > 0) this.#results += 1
    this.#answers += count
  }

  #mediaUses(media: MediaResult): Result['used'] {
    return [this.#mediaUse(media), ...(media.images === 0 ? [] : this.#givenImages())]
  }

  /**
   * The length or number that the result reports, or else the request's, at the one price variant that all requests
   * have.
   */
  #mediaUse({ images, seconds, costUsd }: MediaResult): Result['used'][number] {
    const { units = {}, unitsVariant } = this.context.facts
    const meters: Meters = {
      ...(units.images !== undefined && { images: images ?? units.images }),
      ...(units.videoSeconds !== undefined && { videoSeconds: seconds ?? units.videoSeconds }),
    }
    if (Object.keys(meters).length === 0) this.flags.add('usage_missing')
    return {
      line: lineOf(meters, { tier: 'batch', variant: unitsVariant }),
      details: costUsd === undefined ? {} : { costUsd },
    }
  }

  /** The input images of an edit are billed too. */
  #givenImages(): Result['used'] {
    const { imagesGiven: images = 0 } = this.context.facts
    if (images === 0) return []
    return [{ line: { meters: { images }, tier: 'batch', variant: 'input' }, details: {} }]
  }

  #sighting(): JobSighting {
    const { kind = 'batch', id = '' } = this.context.object ?? {}
    const next = this.#next === '' ? {} : { resultsPath: resultsPath(batchOfPart(id), this.#next) }
    return { kind, id, state: this.#state(), ...next }
  }

  /** A batch without any successful request is not billed. A part without any results has not begun. */
  #state(): JobSighting['state'] {
    if (this.#answers > 0 || this.flags.size > 0) return 'done'
    return this.#wanted !== undefined && this.#results === 0 ? 'running' : 'failed'
  }
}

function newResult(): Result {
  return { answers: 0, textBytes: 0, used: [] }
}

function takeMedia(media: MediaResult, name: string, value: unknown): void {
  const seconds = name === 'seconds' ? secondsOf(value) : undefined
  if (seconds !== undefined) media.seconds = seconds
  if (name === 'images') media.images = 0
  if (name === 'image') media.images = (media.images ?? 0) + 1
  if (name === 'mediaStatus' && typeof value === 'string') media.hasFailed = failedStatuses.has(value)
  if (name === 'costTicks' && typeof value === 'number') media.costUsd = value / ticksPerUsd
}
