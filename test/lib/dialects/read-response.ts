import type { Operation, RequestFacts } from '../../../lib/dialects/dialect.ts'
import { scanJson } from '../../../lib/http/json-scan.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'

export const noFacts: RequestFacts = {
  isStreaming: false,
  candidates: 1,
  textBytes: 0,
  media: [],
  objects: [],
}

export interface ReadOptions {
  readonly contentType?: string
  readonly providerKind?: string
  readonly facts?: RequestFacts
}

/** Reads a response with the reader of an operation: a string as it is, anything else as JSON. */
export function readResponse(
  operation: Operation,
  response: unknown,
  options: ReadOptions = {},
): UsageReading {
  const { contentType = 'application/json', providerKind = 'openai', facts = noFacts } = options
  const reader = operation.readUsage?.({ status: 200, contentType }, { providerKind, facts })
  if (reader === undefined) throw new Error(`${operation.name} reads no usage`)
  reader.push(Buffer.from(typeof response === 'string' ? response : JSON.stringify(response)))
  return reader.end()
}

/** Events as JSON, one `data:` line each; a string is sent as it is. */
export function eventStream(...events: readonly unknown[]): string {
  return events
    .map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('')
}

/** The facts of a JSON request; a string is the body itself. */
export function factsOf(operation: Operation, request: unknown, foldUnderscores = false): RequestFacts {
  const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request))
  if (operation.interest === undefined || operation.factsFromJson === undefined) throw new Error('no facts')
  return operation.factsFromJson(scanJson(body, operation.interest, { foldUnderscores }), body)
}
