import type { Finding, Interest } from '../../http/json-scan.ts'
import { BatchLinesReader } from '../batch-lines.ts'
import { addRequest, batchedRequest } from '../batch-requests.ts'
import { object, value } from '../interest.ts'
import { embedContent } from './embed-content.ts'
import { generateContent } from './generate-content.ts'

export const batchRequestsMax = 100_000

/** What a batch of either kind asks for, and for which model where it says so again. */
const ofEither: Interest = {
  members: new Map([
    ...[generateContent, embedContent].flatMap(({ interest }) => [...(interest?.members ?? [])]),
    ['model', value('model')],
  ]),
}

/** One request inside a batch: `{request: {contents, generationConfig}, metadata}`. */
export const googleBatchedRequest = batchedRequest(object({ request: ofEither }))

/** Reads JSON lines of `{key, request}`. The model is named when the batch is made. */
export class GoogleBatchInputReader extends BatchLinesReader {
  constructor() {
    super(googleBatchedRequest, { requestsMax: batchRequestsMax, foldUnderscores: true })
  }

  protected override addLine(findings: readonly Finding[], at: string): void {
    addRequest(this.tally, findings, { at, endpoint: '', model: '*' })
  }
}
