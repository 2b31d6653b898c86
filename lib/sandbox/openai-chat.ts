import { randomUUID } from 'node:crypto'
import {
  createdSeconds,
  isArray,
  isObject,
  isSlow,
  jsonAnswer,
  jsonBody,
  optionalCount,
  SandboxFault,
  streamAnswer,
  checkModel,
} from './answer.ts'
import type { JsonObject, SandboxAnswer, SandboxRequest } from './answer.ts'
import { makeReply, readPrompt } from './reply.ts'
import type { Prompt } from './reply.ts'

const choicesMax = 8

/** What chat and legacy completions share: they differ only in how a choice is written. */
interface Form {
  readonly idPrefix: string
  readonly object: string
  readonly chunkObject: string
  whole(text: string): JsonObject
  first(): JsonObject | undefined
  piece(text: string): JsonObject
  last(): JsonObject
}

const chat: Form = {
  idPrefix: 'chatcmpl',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  whole: text => ({ message: { role: 'assistant', content: text, refusal: null, annotations: [] } }),
  first: () => ({ delta: { role: 'assistant', content: '', refusal: null } }),
  piece: text => ({ delta: { content: text } }),
  last: () => ({ delta: {} }),
}

const legacy: Form = {
  idPrefix: 'cmpl',
  object: 'text_completion',
  chunkObject: 'text_completion',
  whole: text => ({ text }),
  first: () => undefined,
  piece: text => ({ text }),
  last: () => ({ text: '' }),
}

/** `POST /chat/completions` */
export function answerChat(request: SandboxRequest): SandboxAnswer {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const messages = body['messages']
  if (!isArray(messages) || messages.length === 0) {
    throw new SandboxFault(
      400,
      "Invalid 'messages': expected an array with at least one message.",
      'messages',
    )
  }
  const tokensMax = optionalCount(body, 'max_completion_tokens') ?? optionalCount(body, 'max_tokens')
  return answer(chat, model, body, readPrompt(messages), tokensMax)
}

/** `POST /completions` */
export function answerCompletion(request: SandboxRequest): SandboxAnswer {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const prompt = body['prompt'] ?? ''
  if (typeof prompt !== 'string' && !isArray(prompt)) {
    throw new SandboxFault(400, "Invalid 'prompt': expected a string or an array.", 'prompt')
  }
  return answer(legacy, model, body, readPrompt(prompt), optionalCount(body, 'max_tokens') ?? 16)
}

function answer(
  form: Form,
  model: string,
  body: JsonObject,
  prompt: Prompt,
  tokensMax: number | undefined,
): SandboxAnswer {
  const count = optionalCount(body, 'n') ?? 1
  if (count > choicesMax) throw new SandboxFault(400, `Invalid 'n': at most ${choicesMax}.`, 'n')
  const reply = makeReply(prompt.lastText, tokensMax)
  const usage = completionUsage(prompt.tokens, reply.pieces.length * count)
  const head = { id: `${form.idPrefix}-${randomUUID()}`, created: createdSeconds, model }
  const reason = reply.isCut ? 'length' : 'stop'
  const indexes = Array.from({ length: count }, (_, index) => index)
  if (body['stream'] !== true) {
    const choices = indexes.map(index => ({
      index,
      ...form.whole(reply.text),
      logprobs: null,
      finish_reason: reason,
    }))
    return jsonAnswer({ ...head, object: form.object, choices, usage, service_tier: 'default' })
  }

  const options = body['stream_options']
  const includesUsage = isObject(options) && options['include_usage'] === true
  // Asked for usage, the provider writes a null on every chunk but the last, which has no choices.
  const usageNull = includesUsage ? { usage: null } : {}
  const chunk = (choices: readonly JsonObject[], rest: JsonObject = usageNull): string =>
    `data: ${JSON.stringify({ ...head, object: form.chunkObject, choices, ...rest })}\n\n`
  const choice = (index: number, part: JsonObject, finish: string | null = null): string =>
    chunk([{ index, ...part, logprobs: null, finish_reason: finish }])
  const first = form.first()
  return streamAnswer(
    [
      ...(first === undefined ? [] : indexes.map(index => choice(index, first))),
      ...reply.pieces.flatMap(text => indexes.map(index => choice(index, form.piece(text)))),
      ...indexes.map(index => choice(index, form.last(), reason)),
      ...(includesUsage ? [chunk([], { usage })] : []),
      'data: [DONE]\n\n',
    ],
    isSlow(model),
  )
}

/** The model a request names. @throws SandboxFault as OpenAI words it */
export function openaiModel(name: unknown): string {
  if (name === undefined) throw new SandboxFault(400, 'you must provide a model parameter')
  return checkModel(name, model => `The model \`${model}\` does not exist or you do not have access to it.`)
}

/** Usage of chat and legacy completions; the total is the sum. */
function completionUsage(inputTokens: number, outputTokens: number): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
