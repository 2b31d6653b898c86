import { randomUUID } from 'node:crypto'
import {
  createdSeconds,
  isArray,
  isSlow,
  jsonAnswer,
  jsonBody,
  optionalCount,
  SandboxFault,
  streamAnswer,
  makeReply,
  readPrompt,
} from './answer.ts'
import type { JsonObject, SandboxAnswer, SandboxRequest, Reply } from './answer.ts'
import { openaiModel } from './openai-chat.ts'

/** Nothing is stored: a response can be followed by its id in the answer, but not fetched again. */
export function answerResponse(request: SandboxRequest): SandboxAnswer {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const input = body['input']
  if (typeof input !== 'string' && (!isArray(input) || input.length === 0)) {
    throw new SandboxFault(400, "Missing required parameter: 'input'.", 'input')
  }
  const prompt = readPrompt(input, body['instructions'] ?? [])
  const tokensMax = optionalCount(body, 'max_output_tokens')
  const reply = makeReply(prompt.lastText, tokensMax)
  const base: JsonObject = {
    id: `resp_sandbox_${randomUUID().replaceAll('-', '')}`,
    object: 'response',
    created_at: createdSeconds,
    model,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: tokensMax ?? null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: body['previous_response_id'] ?? null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
  }
  const item = messageItem(reply)
  const whole: JsonObject = {
    ...base,
    status: status(reply),
    incomplete_details: reply.isCut ? { reason: 'max_output_tokens' } : null,
    output: [item],
    usage: usage(prompt.tokens, reply.pieces.length),
  }
  if (body['stream'] !== true) return jsonAnswer(whole)
  return streamAnswer(events(base, item, whole, reply), isSlow(model))
}

function status(reply: Reply): string {
  return reply.isCut ? 'incomplete' : 'completed'
}

function messageItem(reply: Reply): JsonObject {
  return {
    id: `msg_sandbox_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    status: status(reply),
    role: 'assistant',
    content: [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }],
  }
}

function usage(inputTokens: number, outputTokens: number): JsonObject {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}

/** Every event is named like its type and numbered; the usage stands in the last one only. */
function events(base: JsonObject, item: JsonObject, whole: JsonObject, reply: Reply): readonly string[] {
  const started = { ...base, status: 'in_progress', output: [], usage: null }
  const place = { item_id: item['id'], output_index: 0, content_index: 0 }
  const part = { type: 'output_text', text: reply.text, annotations: [], logprobs: [] }
  const list: readonly (readonly [type: string, data: JsonObject])[] = [
    ['response.created', { response: started }],
    ['response.in_progress', { response: started }],
    [
      'response.output_item.added',
      { output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    ],
    ['response.content_part.added', { ...place, part: { ...part, text: '' } }],
    ...reply.pieces.map(delta => ['response.output_text.delta', { ...place, delta, logprobs: [] }] as const),
    ['response.output_text.done', { ...place, text: reply.text, logprobs: [] }],
    ['response.content_part.done', { ...place, part }],
    ['response.output_item.done', { output_index: 0, item }],
    [`response.${status(reply)}`, { response: whole }],
  ]
  return list.map(
    ([type, data], index) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...data })}\n\n`,
  )
}
