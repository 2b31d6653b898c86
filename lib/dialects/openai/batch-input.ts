import type { Finding, Interest, ScanResult } from '../../http/json-scan.ts'
import { BatchLinesReader } from '../batch-tally.ts'
import { addRequest, batchedRequest, type BatchedRequest } from '../batch-requests.ts'
import type { Operation } from '../dialect.ts'
import { anyOf, object, value } from '../interest.ts'
import { readString } from '../read-field.ts'
import { chat } from './chat.ts'
import { completions, countPrompts } from './completions.ts'
import { drawingModel } from './drawing-tool.ts'
import { embeddings } from './embeddings.ts'
import { imageEdits, imageGenerations, imagesIn } from './images.ts'
import { moderations } from './moderations.ts'
import { withoutEchoes } from './response-input.ts'
import { responses } from './responses.ts'
import { xaiVideoGenerations } from './xai-videos.ts'

/** The endpoints whose requests a batch may contain here, each with its operation. */
export const batchEndpoints: ReadonlyMap<string, Operation> = new Map([
  ['/v1/chat/completions', chat],
  ['/v1/responses', responses],
  ['/v1/embeddings', embeddings],
  ['/v1/completions', completions],
  ['/v1/images/generations', imageGenerations],
  ['/v1/moderations', moderations],
])

/** The additional endpoints of xAI's batches: https://docs.x.ai/developers/advanced-api-usage/batch-api. */
const xaiEndpoints: ReadonlyMap<string, Operation> = new Map([
  ['/v1/images/edits', imageEdits],
  ['/v1/videos/generations', xaiVideoGenerations],
])

/** Operations that make images and videos, whose units follow from the request alone. */
const mediaOperations: ReadonlySet<Operation> = new Set([imageGenerations, imageEdits, xaiVideoGenerations])

export const batchRequestsMax = 50_000

/** The members in which endpoints read an output cap. */
export const capMembers: ReadonlyMap<Operation, readonly string[]> = new Map([
  [chat, ['max_tokens', 'max_completion_tokens']],
  [responses, ['max_output_tokens']],
  [completions, ['max_tokens']],
])

/**
 * The endpoint may follow the body in a line, so the body is scanned for all endpoints at once. Free endpoints need no
 * scan, and `n` of an image request is found like `n` of a chat.
 */
function anyBody(): Interest {
  const members = new Map<string, Interest>()
  for (const { interest } of [imageEdits, xaiVideoGenerations, chat, responses, embeddings, completions]) {
    // One endpoint reads `prompt` as text, another as the name of a template at the provider.
    for (const [name, own] of interest?.members ?? []) members.set(name, anyOf(members.get(name) ?? {}, own))
  }
  members.set('size', value('size'))
  members.set('quality', value('quality'))
  return { members }
}

export const anyRequestBody: Interest = anyBody()
const body = batchedRequest(anyRequestBody)
const lineInterest = object({ method: value('method'), url: value('url'), body })

/** A request of a batch with its requests in its own body, as Mistral accepts them. */
export const inlineRequest = object({ body })

/** Reads JSON lines of `{custom_id, method, url, body: {model, ...}}`. */
export class BatchInputReader extends BatchLinesReader {
  constructor() {
    super(lineInterest, { requestsMax: batchRequestsMax })
  }

  protected override addLine(found: readonly Finding[], at: string): void {
    const findings = withoutEchoes(found)
    const scan: ScanResult = { findings }
    const endpoint = readString(scan, 'url')
    const request = findings.findIndex(({ name }) => name === 'request')
    const method = readString(scan, 'method')
    // Lines in Mistral's format: the batch names their endpoint and model.
    if (endpoint === undefined && method === undefined && request !== -1) {
      addRequest(this.tally, findings.slice(request), { at, endpoint: '', model: '*' })
      return
    }
    if (endpoint === undefined || request === -1 || method !== 'POST') {
      this.tally.fail(at, 'It must be {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}.')
      return
    }
    const operation = batchEndpoints.get(endpoint) ?? xaiEndpoints.get(endpoint)
    addRequest(this.tally, findings.slice(request), {
      at,
      endpoint,
      ...(operation !== undefined && { mainMeter: operation.mainMeter, isFree: operation.isFree }),
      ...(operation?.defaultModel !== undefined && { model: operation.defaultModel }),
      ...unitsOf(operation, scan),
      mayRunTools: operation === responses,
      drawsWith: operation === responses ? drawingModel(scan) : undefined,
      prompts: operation === completions ? countPrompts(scan) : 1,
      capMembers: (operation && capMembers.get(operation)) ?? [],
    })
  }
}

/** The images and videos that a request makes, counted as for the hold outside a batch. */
export function unitsOf(
  operation: Operation | undefined,
  scan: ScanResult,
): Pick<BatchedRequest, 'units' | 'unitsVariant' | 'imagesGiven'> {
  if (operation === undefined || !mediaOperations.has(operation)) return {}
  const { units, unitsVariant, media = [] } = operation.factsFromJson?.(scan, { length: 0 }) ?? {}
  return {
    ...(units !== undefined && { units }),
    ...(operation === imageEdits && { imagesGiven: imagesIn(media) }),
    // Prices have resolutions in lower case.
    ...(unitsVariant !== undefined && { unitsVariant: unitsVariant.toLowerCase() }),
  }
}
