import { randomUUID } from 'node:crypto'
import {
  checkModel,
  isArray,
  isSlow,
  jsonResponse,
  jsonBody,
  optionalCount,
  SandboxFault,
  streamResponse,
  makeReply,
  readPrompt,
} from './sandbox-response.ts'
import type { JsonObject, SandboxResponse, SandboxRequest, Reply } from './sandbox-response.ts'

const errorTypes = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
} as const

/** Responds to `/v1/messages` and `/v1/messages/count_tokens` like Anthropic. */
export function answerAnthropic(request: SandboxRequest): SandboxResponse {
  const requestId = `req_sandbox_${randomUUID()}`
  try {
    const response = route(request)
    return { ...response, headers: { ...response.headers, 'request-id': requestId } }
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    return jsonResponse(
      {
        type: 'error',
        error: { type: errorTypes[error.status], message: error.message },
        request_id: requestId,
      },
      error.status,
      { 'request-id': requestId, ...(error.status === 429 ? { 'retry-after': '1' } : {}) },
    )
  }
}

function route(request: SandboxRequest): SandboxResponse {
  if (request.path !== '/v1/messages' && request.path !== '/v1/messages/count_tokens')
    throw new SandboxFault(404, 'Not found')
  if (request.method !== 'POST') throw new SandboxFault(405, 'Method Not Allowed')
  if (request.headers['anthropic-version'] === undefined)
    throw new SandboxFault(400, 'anthropic-version: header is required')
  const body = jsonBody(request)
  const messages = body['messages']
  if (!isArray(messages) || messages.length === 0)
    throw new SandboxFault(400, 'messages: at least one message is required')
  const model = checkModel(body['model'], name => `model: ${name}`)
  const prompt = readPrompt(messages, body['system'])
  if (request.path.endsWith('/count_tokens')) return jsonResponse({ input_tokens: prompt.tokens })

  const tokensMax = optionalCount(body, 'max_tokens')
  if (tokensMax === undefined) throw new SandboxFault(400, 'max_tokens: Field required')
  const reply = makeReply(prompt.lastText, tokensMax)
  if (body['stream'] === true) return streamResponse(events(model, prompt.tokens, reply), isSlow(model))
  return jsonResponse({
    ...message(model),
    content: [{ type: 'text', text: reply.text }],
    stop_reason: stopReason(reply),
    usage: usage(prompt.tokens, reply.pieces.length),
  })
}

function message(model: string): JsonObject {
  return {
    id: `msg_sandbox_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
}

function stopReason(reply: Reply): string {
  return reply.isCut ? 'max_tokens' : 'end_turn'
}

function usage(inputTokens: number, outputTokens: number): JsonObject {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: 'standard',
  }
}

/** The order is the provider's: start, block, ping, deltas, block end, totals, stop. */
function events(model: string, inputTokens: number, reply: Reply): readonly string[] {
  const { cache_creation: _, service_tier: __, ...totals } = usage(inputTokens, reply.pieces.length)
  return [
    event({ type: 'message_start', message: { ...message(model), usage: usage(inputTokens, 1) } }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'ping' }),
    ...reply.pieces.map(text =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: totals,
    }),
    event({ type: 'message_stop' }),
  ]
}

function event(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}
