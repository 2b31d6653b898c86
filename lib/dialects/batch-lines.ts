import { GatewayError } from '../pipeline/errors.ts'
import { JsonLines } from '../http/json-lines.ts'
import type { JsonLine } from '../http/json-lines.ts'
import type { Finding, Interest } from '../http/json-scan.ts'
import type { CountedText } from '../http/json-text.ts'
import type { BatchFacts } from '../money/batch-facts.ts'
import { BatchTally } from './batch-tally.ts'
import { inTextName } from './named-objects.ts'

/** A line's own bounds: what is kept of it is a name, numbers and ids. */
const lineOptions = { valueBytesMax: 65_536, findingsMax: 20_000, countsText: true, fileIdsAs: inTextName }

/**
 * Reads the input file of a batch while it is uploaded, each line of it a request. What is wrong is not
 * thrown, since uploading it is no mistake yet; it stands in the facts, and no batch is made of such a file.
 */
export abstract class BatchLinesReader {
  protected readonly tally: BatchTally
  readonly #lines: JsonLines
  #counted: CountedText = { tokens: { most: 0, likely: 0 }, measuredBytes: 0 }

  constructor(
    interest: Interest,
    options: { readonly requestsMax: number; readonly foldUnderscores?: true },
  ) {
    const { requestsMax, ...scanOptions } = options
    this.tally = new BatchTally(requestsMax)
    this.#lines = new JsonLines(interest, { ...lineOptions, ...scanOptions }, line => this.#take(line))
  }

  push(chunk: Buffer): void {
    // What is no batch is not read to its end: a first line that is none tells.
    if (!this.tally.hasFailed) this.#lines.push(chunk)
  }

  /** Called once, when the file is whole. */
  end(): BatchFacts {
    this.#lines.end()
    return this.tally.facts(this.#counted)
  }

  /**
   * Adds the request of one line to the tally.
   * @param at its place: `line 3`
   * @throws GatewayError for what is wrong with it
   */
  protected abstract addLine(findings: readonly Finding[], at: string): void

  #take({ error, findings, number, counted }: JsonLine): void {
    if (counted !== undefined) this.#counted = sumOf(this.#counted, counted)
    const at = `line ${number}`
    if (error !== undefined) {
      this.tally.fail(at, error.message.replace(/^The body/, 'It'))
      return
    }
    try {
      this.addLine(findings, at)
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      this.tally.fail(at, thrown.message)
    }
  }
}

function sumOf(left: CountedText, right: CountedText): CountedText {
  return {
    tokens: {
      most: left.tokens.most + right.tokens.most,
      likely: left.tokens.likely + right.tokens.likely,
    },
    measuredBytes: left.measuredBytes + right.measuredBytes,
  }
}
