import { runSteps } from '../bodies/turns.ts'
import type { Config } from '../config/config.ts'
import { namesIn, type SessionNames, type SessionProtocol } from '../dialects/session.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { SessionTap } from '../pipeline/plugin.ts'
import type { ModelDirectory } from './model-directory.ts'
import { priceNamedModels } from './requested-model.ts'
import { objectNotFound, ownerOfObjects } from './object-owner.ts'

interface SessionNamesContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly directory: ModelDirectory
}

/**
 * Lets a session name only models that have a price and that its key may use, and only objects that its own account has
 * made, with the session's credential.
 */
export class SessionNamesCheck implements SessionTap {
  readonly isBusy = false
  readonly endReason = undefined
  readonly #exchange: Exchange
  readonly #protocol: SessionProtocol
  readonly #context: SessionNamesContext

  constructor(exchange: Exchange, protocol: SessionProtocol, context: SessionNamesContext) {
    this.#exchange = exchange
    this.#protocol = protocol
    this.#context = context
  }

  /** @throws GatewayError model_not_allowed, model_not_found, object_not_found; a rejection refuses the message */
  onClientMessage(data: Buffer): Promise<undefined> | undefined {
    const named = runSteps(namesIn(this.#protocol, data))
    return named instanceof Promise ? named.then(found => this.#check(found)) : this.#check(named)
  }

  #check({ objects, models }: SessionNames): Promise<undefined> | undefined {
    const { config, directory } = this.#context
    const route = this.#exchange.get('route')
    const target = this.#exchange.get('target')
    const providerName = target.provider.name
    // If turns are metered, the meter limits the session to its initial model.
    const isNamedLater = this.#protocol.modelInSession !== undefined
    const isMetered = target.price !== undefined || isNamedLater
    const others = models.filter(
      ({ name, at }) =>
        isNamedLater || (name !== target.upstreamModelName && !(isMetered && at === 'session.model')),
    )
    priceNamedModels(
      { exchange: this.#exchange, route: { ...route, providerName }, directory, isUnpriced: !isMetered },
      { namedModels: others },
      undefined,
    )
    return objects.length === 0 || config.isolation === 'off' ? undefined : this.#checkObjects(objects)
  }

  async #checkObjects(named: readonly NamedObject[]): Promise<undefined> {
    const { dialect, providerName } = this.#exchange.get('route')
    const accountId = this.#exchange.find('key')?.accountId
    const { chosen } = await ownerOfObjects(this.#context, accountId, dialect.name, named, providerName)
    if (chosen === undefined) return
    const { provider, credential } = this.#exchange.get('target')
    const isHere = chosen.provider.name === provider.name && chosen.credential.name === credential.name
    // With another credential the provider would not find the object.
    if (!isHere) throw objectNotFound(named[0] as NamedObject)
  }

  onProviderMessage(): undefined {}

  endAfterTurn(): void {}
}
