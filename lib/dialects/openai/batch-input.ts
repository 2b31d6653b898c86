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

/** The endpoints whose requests a batch may hold here, each with its operation. */
export const batchEndpoints: ReadonlyMap<string, Operation> = new Map([
  ['/v1/chat/completions', chat],
  ['/v1/responses', responses],
  ['/v1/embeddings', embeddings],
  ['/v1/completions', completions],
  ['/v1/images/generations', imageGenerations],
  ['/v1/moderations', moderations],
])

/** Those of xAI's batches beside them: https://docs.x.ai/developers/advanced-api-usage/batch-api. */
const xaiEndpoints: ReadonlyMap<string, Operation> = new Map([
  ['/v1/images/edits', imageEdits],
  ['/v1/videos/generations', xaiVideoGenerations],
])

/** What makes images and videos, whose units the request itself tells. */
const mediaOperations: ReadonlySet<Operation> = new Set([imageGenerations, imageEdits, xaiVideoGenerations])

export const batchRequestsMax = 50_000

/** The members in which endpoints read a cap on output. */
export const capMembers: ReadonlyMap<Operation, readonly string[]> = new Map([
  [chat, ['max_tokens', 'max_completion_tokens']],
  [responses, ['max_output_tokens']],
  [completions, ['max_tokens']],
])

/**
 * The endpoint may stand behind the body, so the body is looked at for all of them at once. What is free needs
 * no look, and an image's number is found where that of a chat's answers is.
 */
function anyBody(): Interest {
  const members = new Map<string, Interest>()
  for (const { interest } of [imageEdits, xaiVideoGenerations, chat, responses, embeddings, completions]) {
    // A `prompt` is text to one of them and names a template of the provider's to another.
    for (const [name, own] of interest?.members ?? []) members.set(name, anyOf(members.get(name) ?? {}, own))
  }
  members.set('size', value('size'))
  members.set('quality', value('quality'))
  return { members }
}

export const anyRequestBody: Interest = anyBody()
const body = batchedRequest(anyRequestBody)
const lineInterest = object({ method: value('method'), url: value('url'), body })

/** A request of a batch whose requests stand in its own body, as Mistral takes them. */
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
    // Mistral's lines: the batch says where they go, and to which model.
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

/** What a request makes of images and videos, as it is held for outside a batch. */
export function unitsOf(
  operation: Operation | undefined,
  scan: ScanResult,
): Pick<BatchedRequest, 'units' | 'unitsVariant' | 'imagesGiven'> {
  if (operation === undefined || !mediaOperations.has(operation)) return {}
  const { units, unitsVariant, media = [] } = operation.factsFromJson?.(scan, { length: 0 }) ?? {}
  return {
    ...(units !== undefined && { units }),
    ...(operation === imageEdits && { imagesGiven: imagesIn(media) }),
    // Prices have resolutions in small letters.
    ...(unitsVariant !== undefined && { unitsVariant: unitsVariant.toLowerCase() }),
  }
}
