import type { Ledger } from '../ledger/ledger.ts'
import { contextOfKind } from '../models/kept-context.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { tokensAtMost } from './expected-tokens.ts'

/**
 * Records what an answer names as its account's, with the provider and credential that made it. What the
 * client may learn of it waits for that.
 * @param measured what is known of it by its way through the gateway
 */
export async function recordNamed(
  exchange: Exchange,
  { kind, id, facts: told }: NamedObject,
  ledger: Ledger,
  measured: Promise<ObjectFacts | undefined> | undefined,
): Promise<void> {
  const target = exchange.get('target')
  const { provider, credential } = target
  const key = exchange.get('key')
  const own = kind === 'upload' ? { keyId: key.id } : undefined
  // Somebody may go on from it before it is charged: then it counts as what is held for it.
  const context =
    target.price === undefined
      ? undefined
      : contextOfKind(kind, tokensAtMost(target, exchange.get('request')))
  const facts = { ...(context !== undefined && { context }), ...told, ...(await measured), ...own }
  await ledger.recordObject({
    kind,
    id,
    provider: provider.name,
    accountId: key.accountId,
    credential: credential.name,
    exchangeId: exchange.id,
    dialect: target.dialectName,
    ...(Object.keys(facts).length > 0 && { facts }),
  })
}
