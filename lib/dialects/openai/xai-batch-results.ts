import type { JobSighting, UsageReading } from '../../money/usage.ts'
import { AnswerReader } from '../answer-reader.ts'
import { batchReading } from '../batch-results.ts'
import { BatchSum } from '../batch-sum.ts'
import type { AnswerHead, UsageReaderContext } from '../dialect.ts'
import { list, object, span, value } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { UsageFields } from '../usage-fields.ts'
import { measureTokens } from './token-usage.ts'

const body = object({ model: value('resultModel'), usage: value('resultTokens') }, span('answer'))
const result = object({
  // Under the name of the endpoint; answers of `/v1/responses` come as chat completions too.
  batch_result: object({ response: object({ chat_get_completion: body, responses: body }) }),
})
const page = object({ results: list(result), pagination_token: value('next') })

const pageSize = 1000

/** Where the results of a batch are, page by page. */
export function xaiResultsPath(id: string, token?: string): string {
  const next = token === undefined ? '' : `&pagination_token=${encodeURIComponent(token)}`
  return `/batches/${encodeURIComponent(id)}/results?limit=${pageSize}${next}`
}

/** Reads a page of the results of a batch of xAI's. Requests that failed stand there too, and are not billed. */
export class XaiResultsReader extends AnswerReader {
  readonly #sum = new BatchSum()
  #model: string | undefined
  #answers = 0
  #counted = 0
  #next = ''

  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, page)
  }

  override end(): UsageReading {
    const { isTerminal } = super.end()
    if (this.#answers > this.#counted) this.flags.add('usage_missing')
    return batchReading(this.#sum, this.flags, { isTerminal, job: this.#sighting() })
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'next' && typeof value === 'string') this.#next = value
    if (name === 'answer') this.#answers += 1
    if (name === 'resultModel') this.#model = typeof value === 'string' ? value : undefined
    if (name !== 'resultTokens') return
    const measure = measureTokens(new UsageFields(value, this.flags), this.context.providerKind)
    if (measure === undefined) return
    this.#counted += 1
    const model = this.#model === undefined ? {} : { model: this.#model }
    this.#sum.add({ ...model, meters: measure.meters, tier: 'batch' }, measure.details)
  }

  protected override measure(): AnswerMeasure {
    return { lines: [], details: {} }
  }

  #sighting(): JobSighting {
    const id = this.context.object?.id ?? ''
    const name = { kind: 'batch', id } as const
    if (this.#next !== '') return { ...name, state: 'done', resultsPath: xaiResultsPath(id, this.#next) }
    // A batch in which nothing came to anything is not billed.
    return { ...name, state: this.#answers === 0 && this.flags.size === 0 ? 'failed' : 'done' }
  }
}
