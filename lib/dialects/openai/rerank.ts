import type { ScanResult } from '../../http/json-scan.ts'
import { paidOperation } from '../operation-kinds.ts'
import { anyOf, list, object, span, value } from '../interest.ts'
import { addUsed } from '../measure.ts'
import type { ResponseMeasure } from '../measure.ts'
import { searched, strangeMembers } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

/** A text, or an image. */
const strange = object(strangeMembers)
const request = searched({
  ...modelMembers,
  query: anyOf(strange, span('query')),
  documents: list(anyOf(strange, span('document'))),
})

/**
 * Cohere bills one search for up to this many documents, where a document counts once for each 500 tokens of it and of
 * the query, and a token has at least one byte. https://docs.cohere.com/docs/rerank-overview,
 * https://cohere.com/pricing
 */
const documentsPerSearch = 100
const tokensPerDocument = 500
/** The query precedes each part of a document; even the longest query leaves some room for the part. */
const partTokensMin = tokensPerDocument / 2

const response = object({
  model: value('model'),
  error: value('error'),
  usage: value('usage'),
  meta: value('usageMeta'),
  results: span('output'),
  data: span('output'),
})

/** Cohere bills search units, Voyage and Jina tokens. */
class RerankReader extends OpenaiReader {
  protected override measure(): ResponseMeasure {
    const units = this.usage('usageMeta')?.within('billed_units').count('search_units')
    if (units === undefined) return super.measure()
    const line = this.line({})
    addUsed(line.meters, 'searches', units)
    return { lines: [line], details: {} }
  }
}

/** `POST /rerank` */
export const rerank = paidOperation('rerank', 'searches', {
  interest: request,
  factsFromJson(scan, body) {
    const facts = factsFrom(scan, body, { units: { searches: searchesAtMost(scan) } })
    return { ...facts, isReadInParts: true, context: { input: queryReadAgain(scan) } }
  },
  readUsage: (head, context) => new RerankReader(head, context, response),
})

function queryTokensAtMost({ findings }: ScanResult): number {
  const query = findings.find(({ name }) => name === 'query')
  return query === undefined ? 0 : query.end - query.start
}

/** Providers that bill tokens read the query with each document. */
function queryReadAgain(scan: ScanResult): number {
  const documents = scan.findings.filter(({ name }) => name === 'document').length
  return Math.max(0, documents - 1) * queryTokensAtMost(scan)
}

function searchesAtMost(scan: ScanResult): number {
  const { findings } = scan
  const queryTokens = queryTokensAtMost(scan)
  const partTokens = Math.max(partTokensMin, tokensPerDocument - queryTokens)
  let documents = 0
  for (const { name, start, end } of findings)
    if (name === 'document') documents += Math.ceil((end - start) / partTokens)
  return Math.max(1, Math.ceil(documents / documentsPerSearch))
}
