import { randomUUID } from 'node:crypto'
import {
  createdSeconds,
  isArray,
  isObject,
  isSlow,
  jsonResponse,
  jsonBody,
  optionalCount,
  SandboxFault,
  streamResponse,
  checkModel,
  makeReply,
  readPrompt,
  countTokens,
  vector,
} from './sandbox-response.ts'
import type { JsonObject, SandboxResponse, SandboxRequest, Prompt } from './sandbox-response.ts'

const choicesMax = 8

/** The common part of chat and legacy completions: they differ only in the shape of a choice. */
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
export function answerChat(request: SandboxRequest): SandboxResponse {
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
export function answerCompletion(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const prompt = body['prompt'] ?? ''
  if (typeof prompt !== 'string' && !isArray(prompt))
    throw new SandboxFault(400, "Invalid 'prompt': expected a string or an array.", 'prompt')
  return answer(legacy, model, body, readPrompt(prompt), optionalCount(body, 'max_tokens') ?? 16)
}

function answer(
  form: Form,
  model: string,
  body: JsonObject,
  prompt: Prompt,
  tokensMax: number | undefined,
): SandboxResponse {
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
    return jsonResponse({ ...head, object: form.object, choices, usage, service_tier: 'default' })
  }

  const options = body['stream_options']
  const includesUsage = isObject(options) && options['include_usage'] === true
  // If usage is requested, the provider writes a null on every chunk but the last, which has no choices.
  const usageNull = includesUsage ? { usage: null } : {}
  const chunk = (choices: readonly JsonObject[], rest: JsonObject = usageNull): string =>
    `data: ${JSON.stringify({ ...head, object: form.chunkObject, choices, ...rest })}\n\n`
  const choice = (index: number, part: JsonObject, finish: string | null = null): string =>
    chunk([{ index, ...part, logprobs: null, finish_reason: finish }])
  const first = form.first()
  return streamResponse(
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

const dimensionsDefault = 64
const dimensionsMax = 3072
const inputsMax = 2048
const imagesMax = 10
const imageOutputTokens = 272

/** A complete PNG of one pixel. */
const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** `POST /embeddings` */
export function answerEmbeddings(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const inputs = inputsOf(body['input'])
  const dimensions = Math.min(optionalCount(body, 'dimensions') ?? dimensionsDefault, dimensionsMax)
  const data = inputs.map((text, index) => {
    const values = vector(text, dimensions)
    const embedding = body['encoding_format'] === 'base64' ? base64Floats(values) : values
    return { object: 'embedding', index, embedding }
  })
  const tokens = inputs.reduce((sum, text) => sum + countTokens(text), 0)
  return jsonResponse({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } })
}

/** One text, several texts, or token numbers instead of a text. */
function inputsOf(input: unknown): readonly string[] {
  const isOne = typeof input === 'string' || (isArray(input) && typeof input[0] === 'number')
  const list = isOne ? [input] : isArray(input) ? input : []
  if (list.length === 0 || list.length > inputsMax)
    throw new SandboxFault(400, "Invalid 'input': expected a text or a list of texts.", 'input')
  return list.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
}

/** 32-bit little-endian floats, as the official SDKs ask for. */
function base64Floats(values: readonly number[]): string {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

/** `POST /images/generations` */
export function answerImages(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  openaiModel(body['model'])
  const prompt = body['prompt']
  if (typeof prompt !== 'string' || prompt === '')
    throw new SandboxFault(400, "Missing required parameter: 'prompt'.", 'prompt')
  const count = optionalCount(body, 'n') ?? 1
  if (count > imagesMax) throw new SandboxFault(400, `Invalid 'n': at most ${imagesMax}.`, 'n')
  const inputTokens = countTokens(prompt)
  const outputTokens = imageOutputTokens * count
  return jsonResponse({
    created: createdSeconds,
    data: Array.from({ length: count }, () => ({ b64_json: onePixelPng })),
    background: 'opaque',
    output_format: 'png',
    quality: body['quality'] ?? 'low',
    size: body['size'] ?? '1024x1024',
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
      output_tokens: outputTokens,
      output_tokens_details: { text_tokens: 0, image_tokens: outputTokens },
      total_tokens: inputTokens + outputTokens,
    },
  })
}

const moderationCategories = ['harassment', 'hate', 'illicit', 'self-harm', 'sexual', 'violence']

/** Nothing is ever flagged: the sandbox reads no meaning. */
export function answerModeration(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const input = body['input']
  if (input === undefined) throw new SandboxFault(400, "Missing required parameter: 'input'.", 'input')
  const count = isArray(input) && typeof input[0] === 'string' ? input.length : 1
  return jsonResponse({
    id: `modr-${randomUUID()}`,
    model,
    results: Array.from({ length: count }, () => ({
      flagged: false,
      categories: byCategory(false),
      category_scores: byCategory(0),
      category_applied_input_types: byCategory(readPrompt(input).mediaTokens > 0 ? ['image'] : ['text']),
    })),
  })
}

function byCategory(value: unknown): JsonObject {
  return Object.fromEntries(moderationCategories.map(name => [name, value]))
}
