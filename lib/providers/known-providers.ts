import { anthropic } from './anthropic.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { isPaymentRequired, openaiRefusals, type CredentialRefusal } from './credential-refusals.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { google } from './google.ts'
import { groq } from './groq.ts'
import type { KnownProvider } from './known-provider.ts'
import { mistral } from './mistral.ts'
import { moonshot } from './moonshot.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { qwen } from './qwen.ts'
import { sandbox } from './sandbox.ts'
import { together } from './together.ts'
import { venice } from './venice.ts'
import { xai } from './xai.ts'
import { zai } from './zai.ts'

/** Providers by their names, which are the kinds that providers in the config can be `like`. */
export const knownProviders: ReadonlyMap<string, KnownProvider> = new Map<string, KnownProvider>(
  Object.entries({
    openai,
    anthropic,
    google,
    deepseek,
    mistral,
    xai,
    groq,
    openrouter,
    perplexity,
    together,
    cerebras,
    moonshot,
    qwen,
    zai,
    fireworks,
    cohere,
    venice,
    sandbox,
  }),
)

const unknown: KnownProvider = { dialects: {}, streamUsage: 'as-sent' }

/** For a provider whose errors are unknown: the codes of all known providers. */
export const anyRefusals: readonly CredentialRefusal[] = [
  ...openaiRefusals,
  ...anthropic.credentialRefusals,
  ...google.credentialRefusals,
  isPaymentRequired,
]

/** The provider of a kind; for an unknown kind the common behavior. */
export function knownProvider(kind: string): KnownProvider {
  return knownProviders.get(kind) ?? unknown
}
