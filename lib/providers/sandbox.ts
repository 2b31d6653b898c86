import type { KnownProvider } from './known-provider.ts'

/** Port 0 stands for the local port on which the sandbox listens when the gateway starts. */
const origin = 'http://127.0.0.1:0'

export const sandbox: KnownProvider = {
  dialects: { openai: `${origin}/v1`, anthropic: `${origin}/v1`, google: `${origin}/v1beta` },
  streamUsage: 'inject',
  readsCompletionTokens: true,
  tellsAudioLength: true,
}
