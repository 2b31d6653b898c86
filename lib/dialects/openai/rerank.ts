import type { AnswerHead, Operation, UsageReaderContext } from '../dialect.ts'
import { list, object, span, value } from '../interest.ts'
import { addUsed } from '../measure.ts'
import type { AnswerMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

const request = searched({ ...modelMembers, documents: list(span('document')) })

/** As many are one search, at Cohere's. */
const documentsPerSearch = 100

const answer = object({
  model: value('model'),
  error: value('error'),
  usage: value('usage'),
  meta: value('usageMeta'),
  results: span('output'),
  data: span('output'),
})

/** Cohere bills search units, Voyage and Jina tokens. */
class RerankReader extends OpenaiReader {
  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, answer)
  }

  protected override measure(): AnswerMeasure {
    const units = this.usage('usageMeta')?.within('billed_units').count('search_units')
    if (units === undefined) return super.measure()
    const line = this.line({})
    addUsed(line.meters, 'searches', units)
    return { lines: [line], details: {} }
  }
}

/** `POST /rerank` */
export const rerank: Operation = {
  name: 'rerank',
  body: 'json',
  modelIn: 'body',
  isFree: false,
  mainMeter: 'searches',
  interest: request,
  factsFromJson(scan, body) {
    const documents = scan.findings.filter(({ name }) => name === 'document').length
    const searches = Math.max(1, Math.ceil(documents / documentsPerSearch))
    return factsFrom(scan, body, { units: { searches } })
  },
  readUsage: (head, context) => new RerankReader(head, context),
}
