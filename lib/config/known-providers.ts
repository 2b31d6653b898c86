import type { DialectName } from '../dialects/dialect.ts'
import type { Config, ProviderConfig } from './config.ts'

/** What the gateway knows of a provider before the config says anything. */
export interface KnownProvider {
  readonly dialects: Readonly<{ [D in DialectName]?: string }>
  readonly streamUsage: 'inject' | 'as-sent'
  /** `/responses` can be upgraded to a WebSocket, by their documentation. */
  readonly responsesWebSocket?: boolean
  /** What it generates beside the operations of its dialects, below their base URLs. */
  readonly operations?: readonly string[]
}

type Behaviour = Partial<Omit<KnownProvider, 'dialects'>>

function known(dialects: KnownProvider['dialects'], behaviour: Behaviour = {}): KnownProvider {
  return { dialects, streamUsage: 'as-sent', ...behaviour }
}

/** Streams carry no usage unless the request asks for it. */
const inject: Behaviour = { streamUsage: 'inject' }

/** Port 0 stands for the port of this machine on which the sandbox comes to listen when the gateway starts. */
const sandboxOrigin = 'http://127.0.0.1:0'

/** Built-in defaults by provider name; values in the config's `providers` lie over them. */
export const knownProviders: ReadonlyMap<string, KnownProvider> = new Map([
  ['openai', known({ openai: 'https://api.openai.com/v1' }, { ...inject, responsesWebSocket: true })],
  ['anthropic', known({ anthropic: 'https://api.anthropic.com/v1', openai: 'https://api.anthropic.com/v1' })],
  [
    'google',
    known({
      google: 'https://generativelanguage.googleapis.com/v1beta',
      openai: 'https://generativelanguage.googleapis.com/v1beta/openai',
    }),
  ],
  [
    'deepseek',
    known(
      { openai: 'https://api.deepseek.com/v1', anthropic: 'https://api.deepseek.com/anthropic/v1' },
      inject,
    ),
  ],
  ['mistral', known({ openai: 'https://api.mistral.ai/v1' }, { operations: ['/fim/completions'] })],
  ['xai', known({ openai: 'https://api.x.ai/v1' }, { ...inject, responsesWebSocket: true })],
  ['groq', known({ openai: 'https://api.groq.com/openai/v1' })],
  [
    'openrouter',
    known({ openai: 'https://openrouter.ai/api/v1', anthropic: 'https://openrouter.ai/api/v1' }),
  ],
  ['perplexity', known({ openai: 'https://api.perplexity.ai' })],
  ['together', known({ openai: 'https://api.together.ai/v1' })],
  ['cerebras', known({ openai: 'https://api.cerebras.ai/v1' }, inject)],
  [
    'moonshot',
    known({ openai: 'https://api.moonshot.ai/v1', anthropic: 'https://api.moonshot.ai/anthropic/v1' }),
  ],
  ['qwen', known({ openai: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' }, inject)],
  ['zai', known({ openai: 'https://api.z.ai/api/paas/v4', anthropic: 'https://api.z.ai/api/anthropic/v1' })],
  ['fireworks', known({ openai: 'https://api.fireworks.ai/inference/v1' })],
  // Its own format, for a provider `like: cohere` at https://api.cohere.com/v2.
  [
    'cohere',
    known({ openai: 'https://api.cohere.ai/compatibility/v1' }, { operations: ['/chat', '/embed'] }),
  ],
  [
    'sandbox',
    known(
      {
        openai: `${sandboxOrigin}/v1`,
        anthropic: `${sandboxOrigin}/v1`,
        google: `${sandboxOrigin}/v1beta`,
      },
      inject,
    ),
  ],
])

/** First path segments that mean something else, so no provider may have them as its name. */
export const reservedProviderNames: readonly string[] = 'v1 v1beta upload download ws gateway api'.split(' ')

/** `/v1`, `/v1beta`, `/api/v4`: what stands in nearly every base URL. */
const version = /\/v\d+[a-z]*(?:\/|$)/

/**
 * The base URLs of a provider that have no version in their path, by dialect. Those that are built in are as their
 * provider has them.
 */
export function versionlessBases({ name, dialects }: ProviderConfig): readonly (readonly [string, URL])[] {
  const own = Object.entries(dialects).map(([dialect, { baseUrl }]) => [dialect, baseUrl] as const)
  const known = knownProviders.get(name)?.dialects
  return own.filter(
    ([dialect, { href, pathname }]) =>
      !version.test(pathname) &&
      href !== new URL(known?.[dialect as keyof typeof known] ?? 'about:blank').href,
  )
}

/** What `gateway check` says of them. */
export function versionlessNotices({ providers }: Pick<Config, 'providers'>): readonly string[] {
  return [...providers.values()]
    .filter(({ isOff }) => !isOff)
    .flatMap(provider =>
      versionlessBases(provider).map(
        ([dialect, { href }]) =>
          `providers.${provider.name}.dialects.${dialect}.baseUrl is ${href}, without a version such as ` +
          `${dialect === 'google' ? '/v1beta' : '/v1'}, which most servers want in it`,
      ),
    )
}
