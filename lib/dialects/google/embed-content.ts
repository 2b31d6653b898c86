import { ResponseReader } from '../response-reader.ts'
import type { Operation } from '../dialect.ts'
import { paidOperation } from '../operation-kinds.ts'
import { list, object, span, value } from '../interest.ts'
import { responseOf, type ResponseMeasure } from '../measure.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, sameModel } from '../request-facts.ts'
import { content } from './generate-content.ts'
import { generateNames, measureMetadata } from './usage-metadata.ts'

const request = searched({ ...sameModel, content, requests: list(searched({ ...sameModel, content })) })

const response = object({
  usagemetadata: value('usage'),
  error: value('error'),
  embedding: span('output'),
  embeddings: span('output'),
})

/** Older models report no usage. */
class EmbedContentReader extends ResponseReader {
  protected override measure(): ResponseMeasure {
    const usage = this.usage()
    return responseOf(usage && measureMetadata(usage, generateNames))
  }
}

/** `POST /models/{model}:embedContent` and `:batchEmbedContents` */
export const embedContent = paidOperation('embed-content', 'input', {
  modelIn: 'path',
  interest: request,
  factsFromJson: (scan, body) => ({ ...factsFrom(scan, body), isReadInParts: true }),
  readUsage: (head, context) => new EmbedContentReader(head, context, response),
})

/** `POST /models/{model}:batchEmbedContents` */
export const batchEmbedContents: Operation = { ...embedContent, name: 'batch-embed-contents' }
