import { runSteps } from '../bodies/run-steps.ts'
import type { Config } from '../config/config.ts'
import type { SessionProtocol } from '../dialects/session.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { SessionTap } from '../pipeline/plugin.ts'
import { objectNotFound, ownerOfObjects } from './object-owner.ts'

/** Lets a session name only what its own account has made, with the credential that the session has. */
export class SessionObjects implements SessionTap {
  readonly isBusy = false
  readonly endReason = undefined
  readonly #exchange: Exchange
  readonly #protocol: SessionProtocol
  readonly #context: { readonly config: Config; readonly ledger: Ledger }

  constructor(
    exchange: Exchange,
    protocol: SessionProtocol,
    context: { readonly config: Config; readonly ledger: Ledger },
  ) {
    this.#exchange = exchange
    this.#protocol = protocol
    this.#context = context
  }

  /** @throws GatewayError object_not_found; a rejection refuses the message */
  onClientMessage(data: Buffer): Promise<undefined> | undefined {
    const named = runSteps(this.#protocol.objectsIn(data))
    if (named instanceof Promise) return named.then(found => this.#check(found))
    return named.length === 0 ? undefined : this.#check(named)
  }

  async #check(named: readonly NamedObject[]): Promise<undefined> {
    if (named.length === 0) return
    const { dialect, providerName } = this.#exchange.get('route')
    const accountId = this.#exchange.find('key')?.accountId
    const { chosen } = await ownerOfObjects(this.#context, accountId, dialect.name, named, providerName)
    if (chosen === undefined) return
    const { provider, credential } = this.#exchange.get('target')
    const isHere = chosen.provider.name === provider.name && chosen.credential.name === credential.name
    // Elsewhere the provider would not find it.
    if (!isHere) throw objectNotFound(named[0] as NamedObject)
  }

  onProviderMessage(): undefined {}

  windUp(): void {}
}
