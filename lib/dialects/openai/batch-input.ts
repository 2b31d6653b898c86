import { GatewayError } from '../../errors.ts'
import { JsonLines } from '../../http/json-lines.ts'
import type { JsonLine } from '../../http/json-lines.ts'
import type { Finding, Interest, ScanResult } from '../../http/json-scan.ts'
import type { BatchFacts } from '../../money/batch-facts.ts'
import { addRequest, batchedRequest } from '../batch-requests.ts'
import { BatchTally } from '../batch-tally.ts'
import type { Operation } from '../dialect.ts'
import { object, value } from '../interest.ts'
import { readString } from '../read-field.ts'
import { chat } from './chat.ts'
import { completions, countPrompts } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { responses, withoutEchoes } from './responses.ts'

/** The endpoints whose requests a batch may hold here, each with its operation. */
export const batchEndpoints: ReadonlyMap<string, Operation> = new Map([
  ['/v1/chat/completions', chat],
  ['/v1/responses', responses],
  ['/v1/embeddings', embeddings],
  ['/v1/completions', completions],
])

const requestsMax = 50_000
/** A line's own bounds: what is kept of it is a name, numbers and ids. */
const lineOptions = { valueBytesMax: 65_536, findingsMax: 20_000 }

/** The endpoint may stand behind the body, so the body is looked at for all of them at once. */
function anyBody(): Interest {
  const members = [...batchEndpoints.values()].flatMap(({ interest }) => [...(interest?.members ?? [])])
  return batchedRequest({ members: new Map(members) })
}

const lineInterest = object({ method: value('method'), url: value('url'), body: anyBody() })

/**
 * Reads the input file of a batch while it is uploaded: JSON lines of
 * `{custom_id, method, url, body: {model, ...}}`. What is wrong is not thrown, since uploading it is no
 * mistake yet; it stands in the facts, and no batch is made of such a file.
 */
export class BatchInputReader {
  readonly #tally = new BatchTally(requestsMax)
  readonly #lines = new JsonLines(lineInterest, lineOptions, line => this.#take(line))

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
      this.#add(findings, at)
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      this.#tally.fail(at, thrown.message)
    }
  }

  #add(found: readonly Finding[], at: string): void {
    const findings = withoutEchoes(found)
    const scan: ScanResult = { findings }
    const endpoint = readString(scan, 'url')
    const request = findings.findIndex(({ name }) => name === 'request')
    if (endpoint === undefined || request === -1 || readString(scan, 'method') !== 'POST') {
      this.#tally.fail(at, 'It must be {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}.')
      return
    }
    const operation = batchEndpoints.get(endpoint)
    addRequest(this.#tally, findings.slice(request), {
      at,
      endpoint,
      ...(operation !== undefined && { mainMeter: operation.mainMeter }),
      mayRunTools: operation === responses,
      prompts: operation === completions ? countPrompts(scan) : 1,
    })
  }
}
