import { anyOf, base64, object, span, value } from '../interest.ts'
import { paidOperation } from '../operation-kinds.ts'
import type { ResponseMeasure } from '../measure.ts'
import { names } from '../named-objects.ts'
import { searched } from '../naming-members.ts'
import { factsFrom, modelMembers } from '../request-facts.ts'
import { OpenaiReader } from './openai-reader.ts'

const annotated = span('annotated')

const request = searched({
  ...modelMembers,
  document: searched({
    document_url: base64('document'),
    image_url: anyOf(base64('image'), object({ url: base64('image') })),
    file_id: names('file'),
  }),
  bbox_annotation_format: annotated,
  document_annotation_format: annotated,
})

const response = object({
  model: value('model'),
  error: value('error'),
  usage_info: value('usage'),
  pages: span('output'),
})

/** Annotated pages have a price of their own. */
class OcrReader extends OpenaiReader {
  protected override measure(): ResponseMeasure {
    const pages = this.usage()?.count('pages_processed')
    const lines = pages === undefined ? [] : [this.line({ pages }, this.context.facts.unitsVariant)]
    return { lines, details: {} }
  }
}

/** `POST /ocr`, as at Mistral: https://docs.mistral.ai/api/endpoint/ocr */
export const ocr = paidOperation('ocr', 'pages', {
  interest: request,
  factsFromJson(scan, body) {
    const isAnnotated = scan.findings.some(({ name, type }) => name === 'annotated' && type !== 'null')
    return factsFrom(scan, body, isAnnotated ? { unitsVariant: 'annotated' } : {})
  },
  readUsage: (head, context) => new OcrReader(head, context, response),
})
