import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/**
 * Records what an answer names as its account's, with the provider and credential that made it. What the
 * client may learn of it waits for that.
 */
export function objectRecorder(
  exchange: Exchange,
  ledger: Ledger,
  factsOf: (object: NamedObject) => Promise<ObjectFacts | undefined> | undefined,
): (object: NamedObject) => Promise<void> {
  return async ({ kind, id, facts: told }) => {
    const { provider, credential } = exchange.get('target')
    const key = exchange.get('key')
    const measured = await factsOf({ kind, id })
    const own = kind === 'upload' ? { keyId: key.id } : undefined
    const facts = { ...told, ...measured, ...own }
    await ledger.recordObject({
      kind,
      id,
      provider: provider.name,
      accountId: key.accountId,
      credential: credential.name,
      exchangeId: exchange.id,
      ...(Object.keys(facts).length > 0 && { facts }),
    })
  }
}
