import type { ClientEvent, SessionProtocol } from '../dialects/session.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { requireAllowed } from '../models/requested-model.ts'
import { priceInForce } from '../money/price.ts'
import type { Exchange } from '../pipeline/exchange.ts'

interface SessionModelOptions {
  readonly exchange: Exchange
  readonly directory: Pick<ModelDirectory, 'resolve'>
  readonly protocol: Pick<SessionProtocol, 'modelInSession'>
}

/** The model of a session: the one that it was opened with, or one that either side names later. */
export class SessionModel {
  readonly #exchange: Exchange
  readonly #directory: SessionModelOptions['directory']
  readonly #inSession: SessionProtocol['modelInSession']
  /** As the client wrote it when the session was opened. */
  readonly #asked: string

  constructor({ exchange, directory, protocol }: SessionModelOptions) {
    this.#exchange = exchange
    this.#directory = directory
    this.#inSession = protocol.modelInSession
    this.#asked = exchange.get('route').match.pathModel ?? exchange.get('request').model ?? ''
  }

  /**
   * @returns the message with the provider's name in place of an alias; undefined when the message stays as it is
   * @throws GatewayError model_not_allowed, model_not_found; body_invalid for a turn before a model was named
   */
  take({ model, starts }: ClientEvent, data: Buffer): Buffer | undefined {
    if (starts !== undefined && this.#inSession !== undefined && !this.#isPriced)
      throw new GatewayError('body_invalid', this.#inSession.whileUnknown)
    if (model === undefined) return undefined
    const upstream = this.#inSession === undefined ? this.#sameModel(model.name) : this.#use(model.name)
    if (model.name === upstream) return undefined
    const name = Buffer.from(JSON.stringify(upstream))
    return Buffer.concat([data.subarray(0, model.start), name, data.subarray(model.end)])
  }

  /**
   * The provider reports the model that it uses.
   * @returns whether it has a price; if it has none, the previous model stays in force
   */
  isKnown(name: string): boolean {
    if (this.#inSession === undefined) return true
    try {
      this.#use(name)
      return true
    } catch (error) {
      if (error instanceof GatewayError) return false
      throw error
    }
  }

  /**
   * Checks the model again, since the key may have been limited to other models after the session began.
   * @throws GatewayError model_not_allowed
   */
  requireAllowed(): void {
    const { modelName } = this.#exchange.get('target')
    if (modelName !== '')
      requireAllowed(this.#exchange.get('key').models, this.#asked || modelName, modelName)
  }

  get #isPriced(): boolean {
    return this.#exchange.get('target').price !== undefined
  }

  #sameModel(name: string): string {
    const { modelName, upstreamModelName } = this.#exchange.get('target')
    if (name === this.#asked || name === modelName || name === upstreamModelName) return upstreamModelName
    throw new GatewayError('model_not_allowed', 'A session keeps the model that it began with.', {
      param: 'session.model',
    })
  }

  /** Switches to a model: its price, and its name in charges. */
  #use(name: string): string {
    const target = this.#exchange.get('target')
    const found = this.#directory.resolve(name, target.provider.name)
    const price = found && priceInForce(found.entry.prices, this.#exchange.startedAt)
    if (found === undefined || price === undefined) {
      throw new GatewayError(
        'model_not_found',
        `The model "${name}" has no price here, so it is not served.`,
        { param: 'model' },
      )
    }
    const { entry: model, canonicalName: modelName, upstreamName: upstreamModelName } = found
    this.#exchange.set('target', { ...target, model, modelName, upstreamModelName, price })
    return upstreamModelName
  }
}
