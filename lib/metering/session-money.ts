import type { Config } from '../config/config.ts'
import type { TurnUsage } from '../dialects/session.ts'
import type { Target } from '../routes/exchange-facts.ts'
import { chargeAlarms } from '../ledger/charge-flags.ts'
import type { ChargeRequest, Hold, Ledger } from '../ledger/ledger.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceCharge } from '../ledger/price-charge.ts'
import { isPricedBySecond, priceInForce, type Price } from '../money/price.ts'
import { addMeters, type Meters, type NamedObject, type UsageLine } from '../money/usage.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import { decideOwed, type Ending, type Owed } from '../settlement/decide-owed.ts'
import { priceLines } from '../settlement/price-lines.ts'
import type { UsualOutputs } from '../settlement/usual-output.ts'
import { holdError } from './hold-error.ts'
import { newTurn, readingOf, type Turn } from './session-turn.ts'
import type { TypicalOutput } from './typical-output.ts'
import { audioTokens, inSeconds, turnCost, type ExpectedTurn } from './turn-cost.ts'
import type { ExchangeCost } from './exchange-cost.ts'

interface TurnEnd {
  readonly usage: TurnUsage | undefined
  readonly isFailed: boolean
  /** What it is taken to have read, where nobody counted. */
  readonly input: Meters
}

interface SessionMoneyContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly bus: PipelineBus
  readonly directory: ModelDirectory
  readonly typicalOutput: TypicalOutput
  readonly usual: UsualOutputs
  readonly isShared?: boolean | undefined
}

type OwedTurn = Pick<ChargeRequest, 'usageSource' | 'flags'> & {
  readonly lines: readonly UsageLine[]
  readonly usage?: TurnUsage
}

/** Moves the money of a session's turns: holds and charges of one exchange, by their sequence. */
export class SessionMoney {
  readonly #exchange: Exchange
  readonly #context: SessionMoneyContext
  readonly #lines: UsageLine[] = []
  #sequence = 0

  constructor(exchange: Exchange, context: SessionMoneyContext) {
    this.#exchange = exchange
    this.#context = context
  }

  /** Whether what is held does for a turn. */
  suffices({ hold }: Turn, turn: ExpectedTurn): boolean {
    const { likelyMicros, worstMicros } = this.#costOf(turn)
    return hold.likelyMicros >= likelyMicros && hold.worstMicros >= worstMicros
  }

  /**
   * @param instead what stands ready and gives way
   * @throws GatewayError balance_insufficient, key_budget_exceeded, overloaded
   */
  async open(turn: ExpectedTurn, instead?: Turn): Promise<Turn> {
    if (instead !== undefined) await this.release(instead)
    try {
      return newTurn(await this.#hold(this.#costOf(turn)))
    } catch (error) {
      throw holdError(error)
    }
  }

  /** A hold of nothing, for what was not held for before it was consumed. */
  async openEmpty(): Promise<Turn> {
    return newTurn(await this.#hold({ likelyMicros: 0, worstMicros: 0 }))
  }

  async release({ hold }: Turn): Promise<void> {
    await this.#context.ledger.release(hold)
  }

  /** Charges a turn that came to its end; returns what was counted. */
  async finish(turn: Turn, { usage = turn.usage, isFailed, input }: TurnEnd): Promise<Meters | undefined> {
    const drain = this.#exchange.hasClientLeft ? 'reading' : 'none'
    const reading = readingOf(turn, usage, { isTerminal: true, hasError: isFailed })
    await this.#settle(turn, { outcome: 'completed', wasSent: true, drain, reading }, usage, input)
    if (reading.lines.length === 0) return undefined
    return reading.lines.reduce((sum, line) => addMeters(sum, line.meters), {})
  }

  /**
   * Charges what is billed beside the turns.
   * @param makeRoom called when the money that is free does not do
   * @returns why nothing more may be consumed, when the money of the account did not do either
   */
  async chargeAside(usage: TurnUsage, makeRoom: () => Promise<void>): Promise<Error | undefined> {
    const owed: OwedTurn = { lines: usage.lines, usageSource: 'provider', flags: usage.flags, usage }
    const { costMicros } = priceCharge(this.#chargeFor(owed, 'completed'))
    let shortage: Error | undefined
    let hold: Hold | undefined
    for (const attempt of ['as it is', 'with room']) {
      try {
        hold = await this.#hold({ likelyMicros: costMicros, worstMicros: costMicros })
        break
      } catch (error) {
        shortage = holdError(error)
        if (attempt === 'as it is') await makeRoom()
      }
    }
    if (hold !== undefined) shortage = undefined
    await this.#charge(hold === undefined ? await this.openEmpty() : newTurn(hold), owed, 'completed')
    return shortage
  }

  /** A turn that the end of the session cut off. */
  async settle(turn: Turn, { kind }: Outcome, input: Meters): Promise<void> {
    const wasSent = turn.isStarted || turn.isAskedFor
    const isTerminal = turn.usage !== undefined && turn.usage.lines.length > 0
    const reading = wasSent ? readingOf(turn, turn.usage, { isTerminal, hasError: false }) : undefined
    const outcome = kind === 'completed' ? 'aborted' : kind
    await this.#settle(turn, { outcome, wasSent, drain: 'none', reading }, turn.usage, input)
  }

  async #settle(turn: Turn, ending: Ending, usage: TurnUsage | undefined, input: Meters): Promise<void> {
    const owed = decideOwed(ending)
    if (owed.basis === 'nothing') {
      await this.release(turn)
      return
    }
    const told = usage !== undefined && { usage }
    const flags = [...(usage?.flags ?? []), ...owed.flags]
    if (owed.basis === 'estimated')
      await this.#charge(turn, this.#estimate(turn, input, owed), ending.outcome)
    else if (owed.basis === 'zero')
      await this.#charge(turn, { lines: [], usageSource: 'provider', flags }, ending.outcome)
    else
      await this.#charge(
        turn,
        { lines: usage?.lines ?? [], usageSource: owed.source, flags, ...told },
        ending.outcome,
      )
  }

  /** @param context what whoever goes on from the object begins with */
  async record(object: NamedObject, context: Meters): Promise<void> {
    await this.#recordObject({ ...object, facts: { context } })
  }

  /** Of what others are told of as well: whether this exchange is the one that charges it. */
  async claim(kind: 'response' | 'item', id: string | undefined): Promise<boolean> {
    if (this.#context.isShared !== true || id === undefined) return true
    await this.#recordObject({ kind, id })
    const known = await this.#context.ledger.findObject(this.#target.provider.name, kind, id)
    return known?.exchangeId === this.#exchange.id
  }

  async #recordObject(object: NamedObject): Promise<void> {
    const { provider, credential, dialectName } = this.#target
    await this.#context.ledger.recordObject({
      ...object,
      provider: provider.name,
      accountId: this.#exchange.get('key').accountId,
      credential: credential.name,
      exchangeId: this.#exchange.id,
      dialect: dialectName,
    })
  }

  alarm(code: string): void {
    this.#context.bus.emit('alarm', code, { requestId: this.#exchange.id, model: this.#target.modelName })
  }

  get #target(): Target {
    return this.#exchange.get('target')
  }

  #costOf(turn: ExpectedTurn): Omit<ExchangeCost, 'strictMicros'> {
    const { config, typicalOutput } = this.#context
    const { accountId } = this.#exchange.get('key')
    const typicalOutputTokens = typicalOutput.of(accountId, this.#target.modelName)
    return turnCost({ target: this.#target, hold: config.hold, typicalOutputTokens }, turn)
  }

  async #hold(cost: Omit<ExchangeCost, 'strictMicros'>): Promise<Hold> {
    const key = this.#exchange.get('key')
    const { budgetMicros, budgetPeriod: period = 'total' } = key
    return await this.#context.ledger.placeHold({
      exchangeId: this.#exchange.id,
      sequence: this.#sequence++,
      accountId: key.accountId,
      keyId: key.id,
      likelyMicros: cost.likelyMicros,
      worstMicros: cost.worstMicros,
      ...(budgetMicros === undefined ? {} : { budget: { budgetMicros, period } }),
    })
  }

  /** Four bytes of text are about a token; that is all that is known without the provider's count. */
  #estimate(turn: Turn, input: Meters, { flags, hasUnseen }: Owed & { basis: 'estimated' }): OwedTurn {
    const spoken = audioTokens(turn.audioSeconds, 'spoken')
    const usual = hasUnseen ? this.#context.usual.of(this.#target.upstreamModelName) : undefined
    const unseen = Math.ceil(usual?.unseen ?? 0)
    const tokens: Meters = {
      ...input,
      output: Math.ceil(turn.textBytes / 4) + unseen,
      ...(spoken > 0 && { audioOutput: spoken }),
    }
    const { price } = this.#target
    const meters = price !== undefined && isPricedBySecond(price) ? inSeconds(tokens) : tokens
    const rough = unseen > 0 ? ['estimate_rough', 'reasoning_estimated'] : ['estimate_rough']
    return { lines: [{ meters }], usageSource: 'estimated', flags: [...flags, ...rough] }
  }

  #chargeFor(owed: OwedTurn, outcome: ChargeRequest['outcome'], turnId?: string): ChargeRequest {
    const { provider, modelName } = this.#target
    const route = this.#exchange.get('route')
    const flags = new Set(owed.flags)
    const own = { name: this.#target.upstreamModelName, price: this.#target.price }
    const lines = priceLines(owed.lines, own, model => this.#priceOfOther(model), flags)
    return {
      provider: provider.name,
      model: modelName,
      dialect: route.dialect.name,
      operation: route.match.operation.name,
      outcome,
      usageSource: owed.usageSource,
      lines,
      ...(owed.usage !== undefined && { rawUsage: owed.usage.raw }),
      ...(owed.usage !== undefined && { details: owed.usage.details }),
      ...(turnId !== undefined && { providerRequestId: turnId }),
      flags: [...flags],
    }
  }

  async #charge({ hold, id }: Turn, owed: OwedTurn, outcome: ChargeRequest['outcome']): Promise<void> {
    const charge = this.#chargeFor(owed, outcome, id)
    this.#lines.push(...owed.lines)
    this.#exchange.set('usage', this.#lines)
    const result = await this.#context.ledger.charge(hold, charge)
    this.#context.bus.emit('session-charge', this.#exchange, hold.sequence, { charge, result })
    for (const [code, details] of chargeAlarms(hold, charge, result))
      this.#context.bus.emit('alarm', code, details)
  }

  /** Such as the model that writes down what was said. */
  #priceOfOther(model: string): Price | undefined {
    const entry = this.#context.directory.resolve(model, undefined)?.entry
    return entry && priceInForce(entry.prices, this.#exchange.startedAt)
  }
}
