import type { Config } from '../config/config.ts'
import type { Target } from '../models/choose-provider.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import { chargeAlarms } from '../ledger/charge-flags.ts'
import type { ChargeRequest, HeldSums, Hold, Ledger } from '../ledger/ledger.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceInForce, type Price } from '../money/price.ts'
import type { Meters, NamedObject, UsageLine } from '../money/usage.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Work } from '../settlement/settle.ts'
import type { UsualOutputs } from '../metering/usual-outputs.ts'

export interface SessionContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly bus: PipelineBus
  readonly directory: ModelDirectory
  readonly usualOutputs: UsualOutputs
  /** Other sessions also receive this session's responses and items, and may charge them. */
  readonly isShared?: boolean | undefined
}

/** Holds and charges of one session: they belong to one exchange, each with its own sequence. */
export class SessionLedger {
  readonly context: SessionContext
  readonly #exchange: Exchange
  readonly #lines: UsageLine[] = []
  /** The provider's tools that its turns have requested. */
  readonly #tools = new Set<string>()
  #sequence = 0

  constructor(exchange: Exchange, context: SessionContext) {
    this.#exchange = exchange
    this.context = context
  }

  get target(): Target {
    return this.#exchange.get('target')
  }

  get accountId(): string {
    return this.#exchange.get('key').accountId
  }

  get hasClientLeft(): boolean {
    return this.#exchange.hasClientLeft
  }

  /** @throws BalanceInsufficientError, KeyBudgetExceededError, LedgerUnavailableError */
  async hold({ likelyMicros, worstMicros }: HeldSums, tools: readonly ProviderTool[] = []): Promise<Hold> {
    for (const { type } of tools) this.#tools.add(type)
    const { accountId, id: keyId, budgetMicros, budgetPeriod: period = 'total' } = this.#exchange.get('key')
    return await this.context.ledger.placeHold({
      exchangeId: this.#exchange.id,
      sequence: this.#sequence++,
      accountId,
      keyId,
      likelyMicros,
      worstMicros,
      ...(budgetMicros === undefined ? {} : { budget: { budgetMicros, period } }),
    })
  }

  async release(hold: Hold): Promise<void> {
    await this.context.ledger.release(hold)
  }

  async charge(hold: Hold, charge: ChargeRequest): Promise<void> {
    this.#lines.push(...charge.lines.map(({ usage }) => usage))
    this.#exchange.set('usage', this.#lines)
    const { ledger, bus } = this.context
    const result = await ledger.charge(hold, charge)
    bus.emit('session-charge', this.#exchange, hold.sequence, { charge, result })
    for (const [code, details] of chargeAlarms(hold, charge, result, [...this.#tools]))
      bus.emit('alarm', code, details)
  }

  /** The work that a charge of the session is for. */
  work(providerRequestId?: string): Work {
    const { provider, modelName, upstreamModelName, price } = this.target
    const route = this.#exchange.get('route')
    return {
      provider: provider.name,
      model: modelName,
      dialect: route.dialect.name,
      operation: route.match.operation.name,
      providerRequestId,
      own: { name: upstreamModelName, price },
      priceOf: model => this.#priceOfOther(model),
    }
  }

  /** @param context what a session that continues from the object begins with */
  async record(object: NamedObject, context: Meters): Promise<void> {
    await this.#recordObject({ ...object, facts: { context } })
  }

  /** Of a response or item that other sessions may also receive: whether this session is the one that charges it. */
  async claim(kind: 'response' | 'item', id: string | undefined): Promise<boolean> {
    if (this.context.isShared !== true || id === undefined) return true
    await this.#recordObject({ kind, id })
    const known = await this.context.ledger.findObject(this.target.provider.name, kind, id)
    return known?.exchangeId === this.#exchange.id
  }

  alarm(code: string): void {
    const { provider, modelName: model } = this.target
    const details = { requestId: this.#exchange.id, provider: provider.name, model }
    this.context.bus.emit('alarm', code, details)
  }

  async #recordObject(object: NamedObject): Promise<void> {
    const { provider, credential, dialectName } = this.target
    await this.context.ledger.recordObject({
      ...object,
      provider: provider.name,
      accountId: this.accountId,
      credential: credential.name,
      exchangeId: this.#exchange.id,
      dialect: dialectName,
    })
  }

  /** For example that of the model that transcribes speech. */
  #priceOfOther(model: string): Price | undefined {
    const entry = this.context.directory.resolve(model, undefined)?.entry
    return entry && priceInForce(entry.prices, this.#exchange.startedAt)
  }
}
