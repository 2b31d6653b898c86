import type { Target } from './targets.ts'

interface RequestWishes {
  /** Orders for the upstream: `delay=20`, `frames=64,rate=48`; without any it responds at once. */
  readonly upstream?: string
  readonly isStreaming?: boolean
  /** The approximate size of the prompt in bytes. */
  readonly promptBytes?: number
}

const words = 'The quick brown fox jumps over the lazy dog while it thinks of something else. '

/** A whole chat request for a target, as latin1 text. */
export function requestTo(
  { port, headers }: Pick<Target, 'port' | 'headers'>,
  wishes: RequestWishes = {},
): string {
  const { upstream, isStreaming = false, promptBytes = 80 } = wishes
  const body = JSON.stringify({
    ...(upstream !== undefined && { user: `bench:${upstream}` }),
    model: 'bench-model',
    ...(isStreaming && { stream: true, stream_options: { include_usage: true } }),
    max_tokens: 64,
    messages: [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: words.repeat(Math.ceil(promptBytes / words.length)).slice(0, promptBytes) },
    ],
  })
  return [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json',
    'User-Agent: OpenAI/JS 7.5.0',
    'X-Stainless-Lang: js',
    ...headers,
    ...(headers.some(header => header.startsWith('Authorization')) ? [] : ['Authorization: Bearer sk-bench']),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}
