import type { Finding, Interest, ScanResult } from '../../http/json-scan.ts'
import { BatchLinesReader } from '../batch-lines.ts'
import { addRequest, batchedRequest } from '../batch-requests.ts'
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

/** The endpoint may stand behind the body, so the body is looked at for all of them at once. */
function anyBody(): Interest {
  const members = [...batchEndpoints.values()].flatMap(({ interest }) => [...(interest?.members ?? [])])
  return batchedRequest({ members: new Map(members) })
}

const lineInterest = object({ method: value('method'), url: value('url'), body: anyBody() })

/** Reads JSON lines of `{custom_id, method, url, body: {model, ...}}`. */
export class BatchInputReader extends BatchLinesReader {
  constructor() {
    super(lineInterest, { requestsMax })
  }

  protected override addLine(found: readonly Finding[], at: string): void {
    const findings = withoutEchoes(found)
    const scan: ScanResult = { findings }
    const endpoint = readString(scan, 'url')
    const request = findings.findIndex(({ name }) => name === 'request')
    if (endpoint === undefined || request === -1 || readString(scan, 'method') !== 'POST') {
      this.tally.fail(at, 'It must be {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}.')
      return
    }
    const operation = batchEndpoints.get(endpoint)
    addRequest(this.tally, findings.slice(request), {
      at,
      endpoint,
      ...(operation !== undefined && { mainMeter: operation.mainMeter }),
      mayRunTools: operation === responses,
      prompts: operation === completions ? countPrompts(scan) : 1,
    })
  }
}
