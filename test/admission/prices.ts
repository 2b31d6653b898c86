import type { ConfigSections } from '../fixtures/test-gateway.ts'
import { outputTokens, windowTokens } from './answers.ts'

const rubPerMillion = {
  input: '100',
  cachedInput: '10',
  cacheWrite5m: '125',
  cacheWrite1h: '200',
  output: '500',
}
const names =
  'openai anthropic google xai openrouter mistral perplexity groq qwen zai venice cohere moonshot'.split(' ')

const shared = {
  provider: names,
  contextTokensMax: windowTokens,
  outputTokensMax: outputTokens,
  rubPerMillion,
  rubPerUnit: { searches: '1', 'searches/attachment': '2', containers: '3' },
  factors: { batch: '0.5', priority: '2', fast: '2', us: '1.1' },
}
const fees = { searches: '1', requests: '0.5', 'requests/low': '0.5', 'requests/high': '1.5' }
const image = { imageInput: '150', imageOutput: '3000' }

/** The models of the table, as in a config. */
export const models = {
  m: shared,
  'gpt-4o-mini': shared,
  'grok-4': shared,
  compound: shared,
  writer: { ...shared, outputTokensMax: 128_000 },
  thinker: { ...shared, outputTokensMax: 100_000 },
  'm:online': shared,
  'm:enable_web_search=on': shared,
  'qwen3-max': shared,
  dear: { ...shared, rubPerMillion: { ...rubPerMillion, input: '500', output: '2500' } },
  'sonar-deep-research': { ...shared, rubPerUnit: { searches: '0.5', statedUsd: '100' } },
  'sonar-pro': { ...shared, rubPerUnit: { requests: '1.4', statedUsd: '100' } },
  stated: {
    ...shared,
    contextTokensMax: 8000,
    rubPerMillion: { input: '1', output: '1' },
    rubPerUnit: { statedUsd: '100' },
  },
  'grok-4.20-multi-agent': shared,
  ranker: { provider: names, contextTokensMax: 4096, rubPerUnit: { searches: '1' } },
  looker: { ...shared, upstreamModel: 'gpt-5-search-api' },
  'gpt-4o-search-preview': shared,
  verbose: { ...shared, outputTokensMax: 64_000 },
  sonar: { ...shared, rubPerUnit: fees },
  'gpt-audio': { ...shared, rubPerMillion: { ...rubPerMillion, audioInput: '300', audioOutput: '2000' } },
  'gpt-realtime': { ...shared, rubPerMillion: { ...rubPerMillion, audioInput: '300', audioOutput: '2000' } },
  'gemini-live': { ...shared, rubPerMillion: { ...rubPerMillion, audioInput: '300', audioOutput: '2000' } },
  painter: { ...shared, rubPerMillion: { ...rubPerMillion, ...image } },
  'gpt-image-1': { ...shared, outputTokensMax: 10_000, rubPerMillion: { ...rubPerMillion, ...image } },
}

/** All providers of the table at one address; Google's has OpenAI's format beside its own. */
export function providersAt(origin: string): ConfigSections {
  const openai = { baseUrl: `${origin}/v1` }
  const dialects: ConfigSections = {
    anthropic: { anthropic: { baseUrl: `${origin}/v1` } },
    google: { google: { baseUrl: `${origin}/v1beta` }, openai },
  }
  return Object.fromEntries(
    names.map(name => [name, { credentials: ['c'], dialects: dialects[name] ?? { openai } }]),
  )
}
