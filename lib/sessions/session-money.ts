import { bytesPerToken } from '../http/text-density.ts'
import { isZero } from '../dialects/measure.ts'
import type { TurnUsage } from '../dialects/session.ts'
import { holdRefused } from '../ledger/as-gateway-error.ts'
import type { ChargeRequest, Hold } from '../ledger/ledger.ts'
import { priceCharge } from '../ledger/price-charge.ts'
import { isPricedBySecond } from '../money/price.ts'
import { addMeters, type Meters, type NamedObject } from '../money/usage.ts'
import type { Outcome } from '../pipeline/exchange.ts'
import type { Ending, Owed } from '../settlement/decide-owed.ts'
import { chargeOf, settle, type EstimatedLines } from '../settlement/settle.ts'
import type { ExchangeCost } from '../money/exchange-cost.ts'
import type { SessionLedger } from './session-ledger.ts'
import { audioTokens, inSeconds, turnCost, type ExpectedTurn } from '../metering/turn-cost.ts'
import type { Heard, Transcript } from './conversation.ts'

/** A turn of a session from its hold to its charge. */
export interface Turn {
  readonly hold: Hold
  /** The provider's id of the response. */
  id: string | undefined
  /** The client's id of the message that requested it. */
  eventId: string | undefined
  isRequested: boolean
  isStarted: boolean
  /** It reads something other than the conversation, or is not added to it. */
  isApart: boolean
  /** What was heard before it, as far as it reads that. */
  heard: Heard | undefined
  /** What it has generated so far. */
  textBytes: number
  audioSeconds: number
  /** What the provider has reported of it so far. */
  usage: TurnUsage | undefined
}

/** The parts of a turn's reading on which its charge depends. */
function readingOf(
  { textBytes, audioSeconds }: Turn,
  usage: TurnUsage | undefined,
  end: { readonly isTerminal: boolean; readonly hasError: boolean },
): NonNullable<Ending['reading']> {
  const { lines = [] } = usage ?? {}
  const hasOutput = textBytes + audioSeconds > 0
  // A count of zero is not a count when output arrived.
  const isCounted = !hasOutput || end.hasError || !isZero(lines)
  return { lines: isCounted ? lines : [], hasOutput, ...end }
}

/** A turn that has a hold, and that was not requested yet. */
function newTurn(hold: Hold): Turn {
  return {
    hold,
    id: undefined,
    eventId: undefined,
    isRequested: false,
    isStarted: false,
    isApart: false,
    heard: undefined,
    textBytes: 0,
    audioSeconds: 0,
    usage: undefined,
  }
}

interface TurnEnd {
  readonly usage: TurnUsage | undefined
  readonly isFailed: boolean
  /** What it is assumed to have read, if the provider did not count it. */
  readonly input: Meters
}

/** Speech has at least this many bytes of text per second. */
const spokenBytesPerSecond = 8

/** The client's error for the refused hold of a turn. */
function turnRefused(cause: unknown): Error {
  const error = holdRefused(cause, {
    subject: 'The next turn',
    waysToFit: () => ({ advice: ' Or cap its output.' }),
  })
  return error instanceof Error ? error : new Error(String(error))
}

/** Moves the money of a session's turns. */
export class SessionMoney {
  readonly #ledger: SessionLedger

  constructor(ledger: SessionLedger) {
    this.#ledger = ledger
  }

  /** Whether a hold covers a turn. */
  suffices({ hold }: Turn, turn: ExpectedTurn): boolean {
    const { likelyMicros, worstMicros } = this.#costOf(turn)
    return hold.likelyMicros >= likelyMicros && hold.worstMicros >= worstMicros
  }

  /**
   * @param instead the ready turn, whose hold is released first
   * @throws GatewayError balance_insufficient, key_budget_exceeded, overloaded
   */
  async open(turn: ExpectedTurn, instead?: Turn): Promise<Turn> {
    if (instead !== undefined) await this.release(instead)
    try {
      return newTurn(await this.#ledger.hold(this.#costOf(turn), turn.tools))
    } catch (error) {
      throw turnRefused(error)
    }
  }

  /** A hold of nothing, for usage that was consumed without a hold. */
  async openEmpty(): Promise<Turn> {
    return newTurn(await this.#ledger.hold({ likelyMicros: 0, worstMicros: 0 }))
  }

  async release({ hold }: Turn): Promise<void> {
    await this.#ledger.release(hold)
  }

  /** Charges a turn that has ended; returns what was counted. */
  async finish(turn: Turn, { usage = turn.usage, isFailed, input }: TurnEnd): Promise<Meters | undefined> {
    const drain = this.#ledger.hasClientLeft ? 'reading' : 'none'
    const reading = readingOf(turn, usage, { isTerminal: true, hasError: isFailed })
    await this.#settle(turn, { outcome: 'completed', wasSent: true, drain, reading }, usage, input)
    if (reading.lines.length === 0) return undefined
    return reading.lines.reduce((sum, line) => addMeters(sum, line.meters), {})
  }

  /**
   * Charges what is billed beside the turns.
   * @param makeRoom called when the free money is not enough
   * @returns why nothing more may be consumed, when the account's money was not enough either
   */
  async chargeAside(usage: TurnUsage, makeRoom: () => Promise<void>): Promise<Error | undefined> {
    const charge = this.#reported(usage)
    const { costMicros } = priceCharge(charge)
    let shortage: Error | undefined
    let hold: Hold | undefined
    for (const attempt of ['as it is', 'with room']) {
      try {
        hold = await this.#ledger.hold({ likelyMicros: costMicros, worstMicros: costMicros })
        break
      } catch (error) {
        shortage = turnRefused(error)
        if (attempt === 'as it is') await makeRoom()
      }
    }
    if (hold !== undefined) shortage = undefined
    await this.#ledger.charge(hold ?? (await this.openEmpty()).hold, charge)
    return shortage
  }

  /** A turn that the end of the session cut off. */
  async settle(turn: Turn, { kind }: Outcome, input: Meters): Promise<void> {
    const wasSent = turn.isStarted || turn.isRequested
    const isTerminal = turn.usage !== undefined && turn.usage.lines.length > 0
    const reading = wasSent ? readingOf(turn, turn.usage, { isTerminal, hasError: false }) : undefined
    const outcome = kind === 'completed' ? 'aborted' : kind
    await this.#settle(turn, { outcome, wasSent, drain: 'none', reading }, turn.usage, input)
  }

  /** A transcript that the end of the session cut off. */
  async settleTranscript(transcript: Transcript, { kind }: Outcome): Promise<void> {
    const { item, model, audioSeconds, textBytes } = transcript
    if (!(await this.claim('item', `${item}/0`))) return
    const work = this.#ledger.work()
    const seconds = Math.min(audioSeconds, textBytes / spokenBytesPerSecond)
    const price = (model === undefined ? undefined : work.priceOf(model)) ?? work.own.price
    const meters: Meters =
      price !== undefined && isPricedBySecond(price)
        ? { audioSeconds: seconds }
        : { audioInput: audioTokens(seconds, 'heard'), output: Math.ceil(textBytes / bytesPerToken) }
    const outcome = kind === 'completed' ? 'aborted' : kind
    const ending: Ending = { outcome, wasSent: true, drain: 'none' }
    const lines = [model === undefined ? { meters } : { meters, model }]
    const charge = chargeOf(work, { ending }, { lines, source: 'estimated', flags: ['estimate_rough'] })
    await this.#ledger.charge((await this.openEmpty()).hold, charge)
  }

  record(object: NamedObject, context: Meters): Promise<void> {
    return this.#ledger.record(object, context)
  }

  /** Of a response or item that other sessions may also receive: whether this session is the one that charges it. */
  claim(kind: 'response' | 'item', id: string | undefined): Promise<boolean> {
    return this.#ledger.claim(kind, id)
  }

  alarm(code: string): void {
    this.#ledger.alarm(code)
  }

  async #settle(turn: Turn, ending: Ending, usage: TurnUsage | undefined, input: Meters): Promise<void> {
    const work = this.#ledger.work(turn.id)
    const charge = settle(work, { ending, reported: usage }, owed => this.#estimate(turn, input, owed))
    if (charge === undefined) await this.release(turn)
    else await this.#ledger.charge(turn.hold, charge)
  }

  #reported(usage: TurnUsage): ChargeRequest {
    const ending: Ending = { outcome: 'completed', wasSent: true, drain: 'none' }
    const { lines } = usage
    return chargeOf(
      this.#ledger.work(),
      { ending, reported: usage },
      { lines, source: 'provider', flags: [] },
    )
  }

  #costOf(turn: ExpectedTurn): Omit<ExchangeCost, 'strictMicros'> {
    const { target, accountId, context } = this.#ledger
    const usualOutputTokens = context.usualOutputs.ofAccount(accountId, target.modelName)?.output
    return turnCost({ target, hold: context.config.hold, usualOutputTokens }, turn)
  }

  /** An estimate from everything that is known without the provider's count. */
  #estimate(turn: Turn, input: Meters, owed: Owed & { basis: 'estimated' }): EstimatedLines {
    const { target, context } = this.#ledger
    const spoken = audioTokens(turn.audioSeconds, 'spoken')
    const usual = owed.hasUnseen ? context.usualOutputs.ofModel(target.modelName) : undefined
    const unseen = Math.ceil(usual?.unseen ?? 0)
    const tokens: Meters = {
      ...input,
      output: Math.ceil(turn.textBytes / bytesPerToken) + unseen,
      ...(spoken > 0 && { audioOutput: spoken }),
    }
    const { price } = target
    const meters = price !== undefined && isPricedBySecond(price) ? inSeconds(tokens) : tokens
    const flags = unseen > 0 ? ['estimate_rough', 'reasoning_estimated'] : ['estimate_rough']
    return { lines: [{ meters }], source: 'estimated', flags: [...owed.flags, ...flags] }
  }
}
