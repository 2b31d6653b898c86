import { GatewayError } from '../../errors.ts'
import { JsonLines } from '../../http/json-lines.ts'
import type { JsonLine } from '../../http/json-lines.ts'
import type { Interest } from '../../http/json-scan.ts'
import type { BatchFacts } from '../../money/batch-facts.ts'
import { addRequest, batchedRequest } from '../batch-requests.ts'
import { BatchTally } from '../batch-tally.ts'
import { object, value } from '../interest.ts'
import { embedContent } from './embed-content.ts'
import { generateContent } from './generate-content.ts'

export const batchRequestsMax = 100_000
const lineOptions = { valueBytesMax: 65_536, findingsMax: 20_000, foldUnderscores: true }

/** What a batch of either kind asks for, and for which model where it says so again. */
const ofEither: Interest = {
  members: new Map([
    ...[generateContent, embedContent].flatMap(({ interest }) => [...(interest?.members ?? [])]),
    ['model', value('model')],
  ]),
}

/** One request inside a batch: `{request: {contents, generationConfig}, metadata}`. */
export const googleBatchedRequest = batchedRequest(object({ request: ofEither }))

/**
 * Reads the input file of a batch while it is uploaded: JSON lines of `{key, request}`. The model is named
 * when the batch is made. What is wrong stands in the facts, since uploading it is no mistake yet.
 */
export class GoogleBatchInputReader {
  readonly #tally = new BatchTally(batchRequestsMax)
  readonly #lines = new JsonLines(googleBatchedRequest, lineOptions, line => this.#take(line))

  push(chunk: Buffer): void {
    // What is no batch is not read to its end: a first line that is none tells.
    if (!this.#tally.hasFailed) this.#lines.push(chunk)
  }

  /** Called once, when the file is whole. */
  end(): BatchFacts {
    this.#lines.end()
    return this.#tally.facts()
  }

  #take({ error, findings, number }: JsonLine): void {
    const at = `line ${number}`
    if (error !== undefined) {
      this.#tally.fail(at, error.message.replace(/^The body/, 'It'))
      return
    }
    try {
      addRequest(this.#tally, findings, { at, endpoint: '', model: '*' })
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      this.#tally.fail(at, thrown.message)
    }
  }
}
