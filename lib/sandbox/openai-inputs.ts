import { randomUUID } from 'node:crypto'
import { createdSeconds, isArray, jsonAnswer, jsonBody, optionalCount, SandboxFault } from './answer.ts'
import type { JsonObject, SandboxAnswer, SandboxRequest } from './answer.ts'
import { openaiModel } from './openai-chat.ts'
import { countTokens, readPrompt } from './reply.ts'
import { vector } from './vector.ts'

const dimensionsDefault = 64
const dimensionsMax = 3072
const inputsMax = 2048
const imagesMax = 10
const imageOutputTokens = 272

/** A whole PNG of one pixel. */
const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** `POST /embeddings` */
export function answerEmbeddings(request: SandboxRequest): SandboxAnswer {
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
  return jsonAnswer({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } })
}

/** One text, several texts, or token numbers in place of a text. */
function inputsOf(input: unknown): readonly string[] {
  const isOne = typeof input === 'string' || (isArray(input) && typeof input[0] === 'number')
  const list = isOne ? [input] : isArray(input) ? input : []
  if (list.length === 0 || list.length > inputsMax) {
    throw new SandboxFault(400, "Invalid 'input': expected a text or a list of texts.", 'input')
  }
  return list.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
}

/** 32-bit little-endian floats, as the official SDKs ask for. */
function base64Floats(values: readonly number[]): string {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

/** `POST /images/generations` */
export function answerImages(request: SandboxRequest): SandboxAnswer {
  const body = jsonBody(request)
  openaiModel(body['model'])
  const prompt = body['prompt']
  if (typeof prompt !== 'string' || prompt === '') {
    throw new SandboxFault(400, "Missing required parameter: 'prompt'.", 'prompt')
  }
  const count = optionalCount(body, 'n') ?? 1
  if (count > imagesMax) throw new SandboxFault(400, `Invalid 'n': at most ${imagesMax}.`, 'n')
  const inputTokens = countTokens(prompt)
  const outputTokens = imageOutputTokens * count
  return jsonAnswer({
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
export function answerModeration(request: SandboxRequest): SandboxAnswer {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const input = body['input']
  if (input === undefined) throw new SandboxFault(400, "Missing required parameter: 'input'.", 'input')
  const count = isArray(input) && typeof input[0] === 'string' ? input.length : 1
  return jsonAnswer({
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
