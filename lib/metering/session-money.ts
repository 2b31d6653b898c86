import type { Config } from '../config/config.ts'
import type { TurnUsage } from '../dialects/session.ts'
import type { Target } from '../exchange-facts.ts'
import type { ChargeRequest, Hold, Ledger, Micros } from '../ledger/ledger.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { priceCharge } from '../ledger/price-charge.ts'
import { isPricedBySecond, priceInForce, type Price } from '../money/price.ts'
import { addMeters, type Meters, type NamedObject, type UsageLine } from '../money/usage.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import { isFreeAbort } from './decide-charge.ts'
import { holdError } from './hold-error.ts'
import type { Heard } from './conversation.ts'
import { audioTokens, inSeconds, turnHold, type ExpectedTurn } from './turn-hold.ts'

/** A turn of a session from its hold to its charge. */
export interface Turn {
  readonly hold: Hold
  /** The provider's id of the response. */
  id: string | undefined
  /** The client's id of the message that asked for it. */
  eventId: string | undefined
  isAskedFor: boolean
  isStarted: boolean
  /** It reads something else than the conversation, or is not added to it. */
  isApart: boolean
  /** What was said before it, as far as it reads that. */
  heard: Heard | undefined
  /** What was generated so far. */
  textBytes: number
  audioSeconds: number
  /** What the provider told of it so far. */
  usage: TurnUsage | undefined
}

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
  readonly price: Price
}

type Owed = Pick<ChargeRequest, 'usageSource' | 'flags'> & {
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
    return hold.amountMicros >= this.#amountFor(turn)
  }

  /**
   * @param instead what stands ready and gives way
   * @throws GatewayError balance_insufficient, key_budget_exceeded, overloaded
   */
  async open(turn: ExpectedTurn, instead?: Turn): Promise<Turn> {
    if (instead !== undefined) await this.release(instead)
    try {
      return newTurn(await this.#hold(this.#amountFor(turn)))
    } catch (error) {
      throw holdError(error)
    }
  }

  /** A hold of nothing, for what was not held for before it was consumed. */
  async openEmpty(): Promise<Turn> {
    return newTurn(await this.#hold(0))
  }

  async release({ hold }: Turn): Promise<void> {
    await this.#context.ledger.release(hold)
  }

  /** Charges a turn that came to its end; returns what was counted. */
  async finish(turn: Turn, end: TurnEnd): Promise<Meters | undefined> {
    const usage = end.usage ?? turn.usage
    const isDrained = this.#exchange.hasClientLeft
    if (usage === undefined || usage.lines.length === 0) {
      // Without output there is nothing that a provider would bill and not count.
      if (turn.textBytes + turn.audioSeconds === 0) {
        if (end.isFailed) await this.release(turn)
        else
          await this.#charge(
            turn,
            { lines: [], usageSource: 'provider', flags: ['usage_missing'] },
            'completed',
          )
        return undefined
      }
      await this.#charge(turn, this.#estimate(turn, end.input, ['usage_missing']), 'completed')
      return undefined
    }
    const usageSource = isDrained ? 'drained' : 'provider'
    await this.#charge(turn, { lines: usage.lines, usageSource, flags: usage.flags, usage }, 'completed')
    return usage.lines.reduce((sum, line) => addMeters(sum, line.meters), {})
  }

  /**
   * Charges what is billed beside the turns.
   * @param makeRoom called when the money that is free does not do
   * @returns why nothing more may be consumed, when the money of the account did not do either
   */
  async chargeAside(usage: TurnUsage, makeRoom: () => Promise<void>): Promise<Error | undefined> {
    const owed: Owed = { lines: usage.lines, usageSource: 'provider', flags: usage.flags, usage }
    const { costMicros } = priceCharge(this.#chargeFor(owed, 'completed'))
    let shortage: Error | undefined
    let hold: Hold | undefined
    for (const attempt of ['as it is', 'with room']) {
      try {
        hold = await this.#hold(costMicros)
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
  async settle(turn: Turn, outcome: Outcome, input: Meters): Promise<void> {
    const { kind } = outcome.kind === 'completed' ? { kind: 'aborted' as const } : outcome
    const hasOutput = turn.textBytes + turn.audioSeconds > 0
    if (turn.usage !== undefined && turn.usage.lines.length > 0) {
      const { lines, flags } = turn.usage
      await this.#charge(turn, { lines, usageSource: 'provider', flags, usage: turn.usage }, kind)
      return
    }
    const isBegun = turn.isStarted || turn.isAskedFor
    const isFree = kind === 'broken' || isFreeAbort(this.#target.provider.kind)
    if (!isBegun || (!hasOutput && isFree)) await this.release(turn)
    else await this.#charge(turn, this.#estimate(turn, input, hasOutput ? [] : ['ambiguous']), kind)
  }

  /** @param context what whoever goes on from the object begins with */
  async record(object: NamedObject, context: Meters): Promise<void> {
    const { provider, credential } = this.#target
    await this.#context.ledger.recordObject({
      ...object,
      facts: { context },
      provider: provider.name,
      accountId: this.#exchange.get('key').accountId,
      credential: credential.name,
      exchangeId: this.#exchange.id,
    })
  }

  alarm(code: string): void {
    this.#context.bus.emit('alarm', code, { requestId: this.#exchange.id, model: this.#target.modelName })
  }

  get #target(): Target {
    return this.#exchange.get('target')
  }

  #amountFor(turn: ExpectedTurn): Micros {
    return turnHold(this.#target, this.#context.config.hold, turn)
  }

  async #hold(amountMicros: Micros): Promise<Hold> {
    const key = this.#exchange.get('key')
    const { budgetMicros, budgetPeriod: period = 'total' } = key
    return await this.#context.ledger.placeHold({
      exchangeId: this.#exchange.id,
      sequence: this.#sequence++,
      accountId: key.accountId,
      keyId: key.id,
      amountMicros,
      ...(budgetMicros === undefined ? {} : { budget: { budgetMicros, period } }),
    })
  }

  /** Four bytes of text are about a token; that is all that is known without the provider's count. */
  #estimate(turn: Turn, input: Meters, flags: readonly string[]): Owed {
    const spoken = audioTokens(turn.audioSeconds, 'spoken')
    const tokens: Meters = {
      ...input,
      output: Math.ceil(turn.textBytes / 4),
      ...(spoken > 0 && { audioOutput: spoken }),
    }
    const meters = isPricedBySecond(this.#context.price) ? inSeconds(tokens) : tokens
    return { lines: [{ meters }], usageSource: 'estimated', flags: [...flags, 'estimate_rough'] }
  }

  #chargeFor(owed: Owed, outcome: ChargeRequest['outcome']): ChargeRequest {
    const { provider, modelName } = this.#target
    const route = this.#exchange.get('route')
    const flags = new Set(owed.flags)
    const lines = owed.lines.map(usage => ({ usage, price: this.#priceOf(usage, flags) }))
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
      flags: [...flags],
    }
  }

  async #charge({ hold }: Turn, owed: Owed, outcome: ChargeRequest['outcome']): Promise<void> {
    const charge = this.#chargeFor(owed, outcome)
    this.#lines.push(...owed.lines)
    this.#exchange.set('usage', this.#lines)
    const result = await this.#context.ledger.charge(hold, charge)
    this.#context.bus.emit('session-charge', this.#exchange, hold.sequence, { charge, result })
    for (const flag of result.flags) this.alarm(flag)
  }

  /** A line of another model, such as the one that writes down what was said, has that model's price. */
  #priceOf({ model }: UsageLine, flags: Set<string>): Price {
    const { price, directory } = this.#context
    if (model === undefined) return price
    const entry = directory.resolve(model, undefined)?.entry
    const own = entry === undefined ? undefined : priceInForce(entry.prices, this.#exchange.startedAt)
    if (own === undefined) flags.add('model_unpriced')
    return own ?? price
  }
}

function newTurn(hold: Hold): Turn {
  return {
    hold,
    id: undefined,
    eventId: undefined,
    isAskedFor: false,
    isStarted: false,
    isApart: false,
    heard: undefined,
    textBytes: 0,
    audioSeconds: 0,
    usage: undefined,
  }
}
