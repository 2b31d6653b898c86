import type { Target } from '../bench/targets.ts'
import { writeWishes, type StreamWishes } from './wishes.ts'

/** A whole request for a stream in its format, as latin1 text. */
export function streamRequest(target: Pick<Target, 'port' | 'headers'>, wishes: StreamWishes): string {
  const { path, body, version } = requestOf(wishes)
  const text = JSON.stringify(body)
  return [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${target.port}`,
    'Content-Type: application/json',
    'Accept: text/event-stream',
    'User-Agent: bench/1',
    ...target.headers,
    ...(version === undefined ? [] : [version]),
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n')
}

interface FormatRequest {
  readonly path: string
  readonly body: object
  readonly version?: string
}

function requestOf(wishes: StreamWishes): FormatRequest {
  const user = writeWishes(wishes)
  const content = 'Tell me about the quick brown fox.'
  const stream = true
  const model = 'bench-model'
  const messages = [{ role: 'user', content }]
  switch (wishes.format) {
    case 'chat':
      return {
        path: '/v1/chat/completions',
        body: { user, model, stream, stream_options: { include_usage: true }, messages },
      }
    case 'restored':
      return { path: '/v1/chat/completions', body: { user, model: 'bench-restored', stream, messages } }
    case 'messages':
      return {
        path: '/v1/messages',
        body: { metadata: { user_id: user }, model, stream, max_tokens: 100_000, messages },
        version: 'anthropic-version: 2023-06-01',
      }
    case 'responses':
      return { path: '/v1/responses', body: { user, model, stream, store: false, input: content } }
    case 'generateContent':
      return {
        path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
        body: { contents: [{ role: 'user', parts: [{ text: `${content} ${user}` }] }] },
      }
  }
}
