import { randomUUID } from 'node:crypto'
import {
  checkModel,
  isArray,
  isObject,
  isSlow,
  jsonResponse,
  jsonBody,
  optionalCount,
  SandboxFault,
  streamResponse,
  countTokens,
  makeReply,
  readPrompt,
  vector,
} from './sandbox-response.ts'
import type { JsonObject, SandboxResponse, SandboxRequest, Prompt, Reply } from './sandbox-response.ts'

const dimensionsDefault = 768
const dimensionsMax = 3072
const candidatesMax = 8

const errorStatuses = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  405: 'INVALID_ARGUMENT',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
} as const

/** Responds to `/v1beta/models/{model}:{method}`, and the same under `/v1`, like Gemini. */
export function answerGoogle(request: SandboxRequest): SandboxResponse {
  try {
    return route(request)
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    const details =
      error.status === 429
        ? { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' }] }
        : {}
    return jsonResponse(
      {
        error: {
          code: error.status,
          message: error.message,
          status: errorStatuses[error.status],
          ...details,
        },
      },
      error.status,
    )
  }
}

function route(request: SandboxRequest): SandboxResponse {
  const match = /^\/v1(?:beta)?\/models\/([^/:]+):([A-Za-z]+)$/.exec(request.path)
  if (match === null) throw new SandboxFault(404, 'Requested entity was not found.')
  if (request.method !== 'POST') throw new SandboxFault(405, 'Method not allowed.')
  const method = match[2] ?? ''
  const model = checkModel(
    decoded(match[1] ?? ''),
    name => `models/${name} is not found for API version v1beta, or is not supported for ${method}.`,
  )
  const body = jsonBody(request)
  switch (method) {
    case 'generateContent':
      return generate(model, body)
    case 'streamGenerateContent':
      return generateStream(model, body, request.query.get('alt') === 'sse')
    case 'countTokens':
      return countContents(body)
    case 'embedContent':
      return embed(body)
    case 'batchEmbedContents':
      return embedBatch(body)
    default:
      throw new SandboxFault(404, `models/${model} is not found, or is not supported for ${method}.`)
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new SandboxFault(400, 'The path is not valid percent-encoding.')
  }
}

function promptOf(body: JsonObject): Prompt {
  const contents = body['contents']
  if ((!isArray(contents) || contents.length === 0) && !isObject(contents))
    throw new SandboxFault(400, '* GenerateContentRequest.contents: contents is not specified')
  return readPrompt(contents, body['systemInstruction'] ?? body['system_instruction'] ?? [])
}

function settings(body: JsonObject): { tokensMax: number | undefined; candidates: number } {
  const config = body['generationConfig'] ?? body['generation_config']
  if (!isObject(config)) return { tokensMax: undefined, candidates: 1 }
  const tokensMax = optionalCount(config, 'maxOutputTokens') ?? optionalCount(config, 'max_output_tokens')
  const candidates = optionalCount(config, 'candidateCount') ?? optionalCount(config, 'candidate_count') ?? 1
  if (candidates > candidatesMax)
    throw new SandboxFault(400, `candidateCount must be in the range [1, ${candidatesMax}]`)
  return { tokensMax, candidates }
}

function generate(model: string, body: JsonObject): SandboxResponse {
  const prompt = promptOf(body)
  const { tokensMax, candidates } = settings(body)
  const reply = makeReply(prompt.lastText, tokensMax)
  return jsonResponse({
    candidates: Array.from({ length: candidates }, (_, index) =>
      candidate(reply.text, index, finishReason(reply)),
    ),
    usageMetadata: usage(prompt, reply.pieces.length * candidates),
    modelVersion: model,
    responseId: randomUUID(),
  })
}

function generateStream(model: string, body: JsonObject, isSse: boolean): SandboxResponse {
  const prompt = promptOf(body)
  const reply = makeReply(prompt.lastText, settings(body).tokensMax)
  const responseId = randomUUID()
  const last = reply.pieces.length - 1
  const chunks = reply.pieces.map((text, index) => ({
    candidates: [candidate(text, 0, index === last ? finishReason(reply) : undefined)],
    usageMetadata: usage(prompt, index + 1),
    modelVersion: model,
    responseId,
  }))
  if (isSse) {
    // Gemini's event streams use CRLF, name no events and end without a [DONE].
    return streamResponse(
      chunks.map(chunk => `data: ${JSON.stringify(chunk)}\r\n\r\n`),
      isSlow(model),
      'text/event-stream',
    )
  }
  const frames = chunks.map(
    (chunk, index) => `${index === 0 ? '[' : ',\r\n'}${JSON.stringify(chunk, null, 2)}\n`,
  )
  return streamResponse([...frames, ']'], isSlow(model), 'application/json; charset=UTF-8')
}

function candidate(text: string, index: number, reason: string | undefined): JsonObject {
  return {
    content: { parts: [{ text }], role: 'model' },
    ...(reason === undefined ? {} : { finishReason: reason }),
    index,
  }
}

function finishReason(reply: Reply): string {
  return reply.isCut ? 'MAX_TOKENS' : 'STOP'
}

function usage(prompt: Prompt, outputTokens: number): JsonObject {
  return {
    promptTokenCount: prompt.tokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: prompt.tokens + outputTokens,
    promptTokensDetails: modalities(prompt),
  }
}

function modalities(prompt: Prompt): readonly JsonObject[] {
  const text = { modality: 'TEXT', tokenCount: prompt.tokens - prompt.mediaTokens }
  if (prompt.mediaTokens === 0) return [text]
  return [text, { modality: 'IMAGE', tokenCount: prompt.mediaTokens }]
}

function countContents(body: JsonObject): SandboxResponse {
  const inner = body['generateContentRequest'] ?? body['generate_content_request']
  const prompt = promptOf(isObject(inner) ? inner : body)
  return jsonResponse({ totalTokens: prompt.tokens, promptTokensDetails: modalities(prompt) })
}

function embed(body: JsonObject): SandboxResponse {
  const { text, values } = embedding(body)
  return jsonResponse({ embedding: { values }, usageMetadata: embeddingUsage(countTokens(text)) })
}

function embedBatch(body: JsonObject): SandboxResponse {
  const requests = body['requests']
  if (!isArray(requests) || requests.length === 0)
    throw new SandboxFault(400, '* BatchEmbedContentsRequest.requests: requests is not specified')
  const embeddings = requests.map(item => embedding(isObject(item) ? item : {}))
  const tokens = embeddings.reduce((sum, { text }) => sum + countTokens(text), 0)
  return jsonResponse({
    embeddings: embeddings.map(({ values }) => ({ values })),
    usageMetadata: embeddingUsage(tokens),
  })
}

function embedding(body: JsonObject): { text: string; values: readonly number[] } {
  if (!isObject(body['content']))
    throw new SandboxFault(400, '* EmbedContentRequest.content: content is not specified')
  const text = readPrompt(body['content']).lastText
  const dimensions = optionalCount(body, 'outputDimensionality') ?? dimensionsDefault
  return { text, values: vector(text, Math.min(dimensions, dimensionsMax)) }
}

function embeddingUsage(tokens: number): JsonObject {
  // The provider spells it without an s here.
  return { promptTokenCount: tokens, promptTokenDetails: [{ modality: 'TEXT', tokenCount: tokens }] }
}
