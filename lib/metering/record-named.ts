import type { Ledger } from '../ledger/ledger.ts'
import { contextOfKind } from '../models/kept-context.ts'
import type { NamedObject, ObjectFacts } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { tokensAtMost } from './expected-tokens.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    objectWatcher: ObjectWatcher
  }
}

/** Handles the objects that a response names, before their names are relayed. */
interface ObjectWatcher {
  /** The facts of an object that passed through the gateway; undefined if there are none. */
  factsOf?(object: NamedObject): Promise<ObjectFacts | undefined> | undefined
  onNamed(object: NamedObject, facts: Promise<ObjectFacts | undefined> | undefined): Promise<void>
}

/**
 * Records the objects that a response names as its account's, with the provider and credential that made them. The
 * bytes that name them wait for that.
 */
export async function recordNamed(exchange: Exchange, object: NamedObject, ledger: Ledger): Promise<void> {
  const watcher = exchange.find('objectWatcher')
  const measured = watcher?.factsOf?.(object)
  await Promise.all([record(exchange, object, ledger, measured), watcher?.onNamed(object, measured)])
}

async function record(
  exchange: Exchange,
  { kind, id, facts: told }: NamedObject,
  ledger: Ledger,
  measured: Promise<ObjectFacts | undefined> | undefined,
): Promise<void> {
  const target = exchange.get('target')
  const { provider, credential } = target
  const key = exchange.get('key')
  const own = kind === 'upload' ? { keyId: key.id } : undefined
  // Another request may continue from it before it is charged: its context is then the held amount.
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
