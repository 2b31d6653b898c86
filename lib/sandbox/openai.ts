import { randomUUID } from 'node:crypto'
import {
  jsonResponse,
  SandboxFault,
  bytesResponse,
  jsonBody,
  streamResponse,
  makeReply,
  createdSeconds,
  isArray,
  isSlow,
  optionalCount,
  readPrompt,
  type SandboxResponse,
  type SandboxRequest,
  type JsonObject,
  type Reply,
} from './sandbox-response.ts'
import {
  answerChat,
  answerCompletion,
  openaiModel,
  answerEmbeddings,
  answerImages,
  answerModeration,
} from './openai-chat.ts'

type Handler = (request: SandboxRequest) => SandboxResponse | Promise<SandboxResponse>

const samplesPerSecond = 8000
const beepSeconds = 0.1
/** The provider's count for speech: ten tokens a second. */
const audioTokensPerSecond = 10
/** Guessed for files that are not WAV: 128 kbit a second. */
const bytesPerSecondGuess = 16_000

/** A short WAV, whatever the request; like the provider's, the response reports no usage. */
function answerSpeech(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  openaiModel(body['model'])
  if (typeof body['input'] !== 'string' || body['input'] === '')
    throw new SandboxFault(400, "Missing required parameter: 'input'.", 'input')
  return bytesResponse(beep(), 'audio/wav')
}

/** One tone of 440 Hz, 16-bit mono. */
function beep(): Buffer {
  const samples = samplesPerSecond * beepSeconds
  const wav = Buffer.alloc(44 + samples * 2)
  wav.write('RIFF', 0, 'latin1')
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.write('WAVEfmt ', 8, 'latin1')
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(samplesPerSecond, 24)
  wav.writeUInt32LE(samplesPerSecond * 2, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write('data', 36, 'latin1')
  wav.writeUInt32LE(samples * 2, 40)
  for (let index = 0; index < samples; index += 1) {
    const level = Math.sin((2 * Math.PI * 440 * index) / samplesPerSecond)
    wav.writeInt16LE(Math.round(level * 8000), 44 + index * 2)
  }
  return wav
}

/** `POST /audio/transcriptions` */
async function answerTranscription(request: SandboxRequest): Promise<SandboxResponse> {
  const form = await readForm(request)
  const model = openaiModel(form.get('model') ?? undefined)
  const file = form.get('file')
  if (file === null || typeof file === 'string')
    throw new SandboxFault(400, "Missing required parameter: 'file'.", 'file')
  const audio = Buffer.from(await file.arrayBuffer())
  const seconds = secondsOf(audio)
  const reply = makeReply(`a file of ${audio.length} bytes`, undefined)
  if (form.get('response_format') === 'text')
    return bytesResponse(`${reply.text}\n`, 'text/plain; charset=utf-8')
  const usage = transcriptionUsage(model, seconds, reply.pieces.length)
  if (form.get('stream') !== 'true') return jsonResponse({ text: reply.text, usage })
  return streamResponse(
    [
      ...reply.pieces.map(delta => ({ type: 'transcript.text.delta', delta })),
      { type: 'transcript.text.done', text: reply.text, usage },
    ]
      .map(event => `data: ${JSON.stringify(event)}\n\n`)
      .concat('data: [DONE]\n\n'),
    false,
  )
}

/** Whisper bills by duration, the newer models by tokens. */
function transcriptionUsage(model: string, seconds: number, outputTokens: number): JsonObject {
  if (model.includes('whisper')) return { type: 'duration', seconds: Math.ceil(seconds) }
  const audioTokens = Math.ceil(seconds * audioTokensPerSecond)
  return {
    type: 'tokens',
    input_tokens: audioTokens,
    input_token_details: { text_tokens: 0, audio_tokens: audioTokens },
    output_tokens: outputTokens,
    total_tokens: audioTokens + outputTokens,
  }
}

async function readForm(request: SandboxRequest): Promise<FormData> {
  try {
    const headers = { 'content-type': request.headers['content-type'] ?? '' }
    return await new Response(new Uint8Array(request.body), { headers }).formData()
  } catch {
    throw new SandboxFault(400, 'The body is not valid multipart/form-data.')
  }
}

function secondsOf(audio: Buffer): number {
  const isWav = audio.length > 44 && audio.toString('latin1', 0, 4) === 'RIFF'
  const bytesPerSecond = isWav ? audio.readUInt32LE(28) : bytesPerSecondGuess
  return (audio.length - (isWav ? 44 : 0)) / (bytesPerSecond || bytesPerSecondGuess)
}

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

/** Responds to the rest of `/v1` like OpenAI. */
export async function answerOpenai(request: SandboxRequest): Promise<SandboxResponse> {
  const requestId = `req_sandbox_${randomUUID()}`
  try {
    const response = await route(request)
    return { ...response, headers: { ...response.headers, 'x-request-id': requestId } }
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    return fault(error, requestId)
  }
}

function route(request: SandboxRequest): SandboxResponse | Promise<SandboxResponse> {
  const handler = routes.get(request.path)
  if (handler === undefined) throw new SandboxFault(404, `Invalid URL (${request.method} ${request.path})`)
  if (request.method !== 'POST')
    throw new SandboxFault(405, `Not allowed to ${request.method} on ${request.path}.`)
  return handler(request)
}

function fault(error: SandboxFault, requestId: string): SandboxResponse {
  const isLimit = error.status === 429
  const code = isLimit
    ? 'rate_limit_exceeded'
    : error.param === 'model' && error.status === 404
      ? 'model_not_found'
      : null
  return jsonResponse(
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

/** Nothing is stored: a request can continue from a response's id, but not fetch it again. */
function answerResponse(request: SandboxRequest): SandboxResponse {
  const body = jsonBody(request)
  const model = openaiModel(body['model'])
  const input = body['input']
  if (typeof input !== 'string' && (!isArray(input) || input.length === 0))
    throw new SandboxFault(400, "Missing required parameter: 'input'.", 'input')
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
  if (body['stream'] !== true) return jsonResponse(whole)
  return streamResponse(events(base, item, whole, reply), isSlow(model))
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

/** Every event is named like its type and numbered; only the last one has the usage. */
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
