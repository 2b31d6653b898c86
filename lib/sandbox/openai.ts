import { randomUUID } from 'node:crypto'
import { jsonAnswer, SandboxFault } from './answer.ts'
import type { SandboxAnswer, SandboxRequest } from './answer.ts'
import { answerSpeech, answerTranscription } from './openai-audio.ts'
import { answerChat, answerCompletion } from './openai-chat.ts'
import { answerEmbeddings, answerImages, answerModeration } from './openai-inputs.ts'
import { answerResponse } from './openai-responses.ts'

type Handler = (request: SandboxRequest) => SandboxAnswer | Promise<SandboxAnswer>

const routes: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['/v1/chat/completions', answerChat],
  ['/v1/completions', answerCompletion],
  ['/v1/responses', answerResponse],
  ['/v1/embeddings', answerEmbeddings],
  ['/v1/images/generations', answerImages],
  ['/v1/audio/speech', answerSpeech],
  ['/v1/audio/transcriptions', answerTranscription],
  ['/v1/moderations', answerModeration],
])

/** Answers the rest of `/v1` as OpenAI does. */
export async function answerOpenai(request: SandboxRequest): Promise<SandboxAnswer> {
  const requestId = `req_sandbox_${randomUUID()}`
  try {
    const answer = await route(request)
    return { ...answer, headers: { ...answer.headers, 'x-request-id': requestId } }
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    return fault(error, requestId)
  }
}

function route(request: SandboxRequest): SandboxAnswer | Promise<SandboxAnswer> {
  const handler = routes.get(request.path)
  if (handler === undefined) {
    throw new SandboxFault(404, `Invalid URL (${request.method} ${request.path})`)
  }
  if (request.method !== 'POST') {
    throw new SandboxFault(405, `Not allowed to ${request.method} on ${request.path}.`)
  }
  return handler(request)
}

function fault(error: SandboxFault, requestId: string): SandboxAnswer {
  const isLimit = error.status === 429
  const code = isLimit
    ? 'rate_limit_exceeded'
    : error.param === 'model' && error.status === 404
      ? 'model_not_found'
      : null
  return jsonAnswer(
    {
      error: {
        message: error.message,
        type: isLimit ? 'requests' : 'invalid_request_error',
        param: error.param ?? null,
        code,
      },
    },
    error.status,
    { 'x-request-id': requestId, ...(isLimit ? { 'retry-after': '1' } : {}) },
  )
}
