import type { Config } from '../config/config.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { ProviderObject } from '../ledger/object-ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import { withCredential } from './choose-provider.ts'

/**
 * Of the prompts that a request names those that the operator gives to its account: nobody can make one through the
 * gateway. They are OpenAI's, so that only its format has them.
 */
export function grantedPrompts(
  { providers }: Config,
  accountId: string | undefined,
  referred: readonly NamedObject[],
  providerName: string | undefined,
): readonly ProviderObject[] {
  const granted: ProviderObject[] = []
  for (const { kind, id } of referred) {
    if (kind !== 'prompt') continue
    for (const provider of providers.values()) {
      const accounts = provider.prompts.get(id)?.accounts ?? []
      const isOwn = accounts.some(one => one === '*' || one === accountId)
      if (!isOwn || (providerName !== undefined && providerName !== provider.name)) continue
      const chosen = withCredential(provider, 'openai')
      if (chosen === undefined) continue
      const credential = chosen.credential.name
      granted.push({
        kind,
        id,
        provider: provider.name,
        accountId: accountId ?? '',
        credential,
        exchangeId: '',
      })
      break
    }
  }
  return granted
}

/** What a prompt brings does not stand in the request: tools that its provider runs may be among it. */
export function withPromptTools({ providers }: Config, facts: RequestFacts): RequestFacts {
  const isPlain = ({ id }: NamedObject): boolean =>
    [...providers.values()].some(({ prompts }) => prompts.get(id)?.tools === false)
  const mayRunTools = facts.objects.some(object => object.kind === 'prompt' && !isPlain(object))
  if (!mayRunTools) return facts
  return { ...facts, tools: [...(facts.tools ?? []), { type: 'prompt' }], mayRent: true }
}
