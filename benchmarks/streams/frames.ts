import { hrtime } from 'node:process'

/** The formats of measured streams; `restored` is chat whose usage the gateway requested and removes. */
export const formats = ['chat', 'restored', 'messages', 'responses', 'generateContent'] as const
export type Format = (typeof formats)[number]

/** The events of a stream, as bytes. */
interface Events {
  readonly first: string
  /** @param text the generated text of the frame */
  frame(text: string, index: number): string
  readonly last: string
}

const id = 'chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012'
const chatHead = `"id":"${id}","object":"chat.completion.chunk","created":1780000000,"model":"bench-model"`
const chatUsage = '{"prompt_tokens":19,"completion_tokens":64,"total_tokens":83}'
const item = 'msg_0252c107a0929a24016a85bfbad03c87d28a3122569b89b6cc'
const response = '"id":"resp_0252c107a0929a24016a85bfb6d1b","object":"response","model":"bench-model"'

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`
}

const chat: Events = {
  first: `data: {${chatHead},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}\n\n`,
  frame: text =>
    `data: {${chatHead},"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}],"usage":null}\n\n`,
  last: `data: {${chatHead},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\ndata: {${chatHead},"choices":[],"usage":${chatUsage}}\n\ndata: [DONE]\n\n`,
}

const messages: Events = {
  first:
    event(
      'message_start',
      '{"type":"message_start","message":{"id":"msg_01AbCdEf","type":"message","role":"assistant","model":"bench-model","content":[],"stop_reason":null,"usage":{"input_tokens":19,"output_tokens":1}}}',
    ) +
    event(
      'content_block_start',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ),
  frame: text =>
    event(
      'content_block_delta',
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
    ),
  last:
    event('content_block_stop', '{"type":"content_block_stop","index":0}') +
    event(
      'message_delta',
      '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":19,"output_tokens":64}}',
    ) +
    event('message_stop', '{"type":"message_stop"}'),
}

const responses: Events = {
  first: event(
    'response.created',
    `{"type":"response.created","response":{${response},"status":"in_progress","output":[],"usage":null},"sequence_number":0}`,
  ),
  frame: (text, index) =>
    event(
      'response.output_text.delta',
      `{"type":"response.output_text.delta","content_index":0,"delta":"${text}","item_id":"${item}","logprobs":[],"obfuscation":"${'VBzVxyxJ4bysK'.slice(index % 13)}","output_index":0,"sequence_number":${index + 1}}`,
    ),
  last: event(
    'response.completed',
    `{"type":"response.completed","response":{${response},"status":"completed","output":[{"id":"${item}","type":"message","content":[]}],"usage":{"input_tokens":19,"input_tokens_details":{"cached_tokens":0},"output_tokens":64,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":83}},"sequence_number":9999}`,
  ),
}

const google = '"modelVersion":"bench-model","responseId":"AbCdEfGhIjKlMnOp"'
const generateContent: Events = {
  first: '',
  frame: (text, index) =>
    `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":19,"candidatesTokenCount":${index + 1},"totalTokenCount":${index + 20}},${google}}\r\n\r\n`,
  last: `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":19,"candidatesTokenCount":64,"totalTokenCount":83},${google}}\r\n\r\n`,
}

const eventsOf: Readonly<Record<Format, Events>> = {
  chat,
  restored: chat,
  messages,
  responses,
  generateContent,
}

/** The start of a frame's text: the time when it was sent, by the machine's monotonic clock. */
export const mark = '"@'
/** Decimal digits after the mark. */
export const momentDigits = 18

const words = ' the quick brown fox jumps over the lazy dog while it thinks of something else'.repeat(110)

/** Makes the frames of one stream, each about this many bytes long, without chunked framing. */
export class Frames {
  readonly #events: Events
  readonly #textBytes: number
  #index = 0

  constructor(format: Format, frameBytes: number) {
    this.#events = eventsOf[format]
    const moment = '0'.repeat(momentDigits)
    const least = this.#events.frame(`@${moment}`, 0).length
    this.#textBytes = Math.max(0, frameBytes - least)
  }

  get first(): string {
    return this.#events.first
  }

  get last(): string {
    return this.#events.last
  }

  next(): string {
    const moment = hrtime.bigint().toString().padStart(momentDigits, '0')
    const start = this.#index % 16
    const text = `@${moment}${words.slice(start, start + this.#textBytes)}`
    return this.#events.frame(text, this.#index++)
  }
}
