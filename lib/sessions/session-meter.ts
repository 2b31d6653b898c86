import { runSteps } from '../bodies/turns.ts'
import type { ProviderTool } from '../dialects/provider-tools.ts'
import type { ClientEvent, ServerEvent, SessionReader, TurnUsage } from '../dialects/session.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Outcome } from '../pipeline/exchange.ts'
import type { SessionTap } from '../pipeline/plugin.ts'
import type { SessionModel } from './session-model.ts'
import type { SessionMoney, Turn } from './session-money.ts'
import type { Conversation } from './conversation.ts'
import { withRoom, type ExpectedTurn } from '../metering/turn-cost.ts'

export interface SessionMeterOptions {
  readonly reader: SessionReader
  readonly money: SessionMoney
  readonly conversation: Conversation
  readonly model: SessionModel
  /** What the provider may run by itself, according to the first message. */
  readonly tools: readonly ProviderTool[]
  /** @throws GatewayError when the key may no longer be used */
  readonly checkKey: () => void
}

/**
 * Holds before each turn, charges after it. Requested turns have a hold each; where responses begin by themselves, one
 * hold is ready for the next of them.
 */
export class SessionMeter implements SessionTap {
  readonly #options: SessionMeterOptions
  /** Open turns, oldest first. */
  readonly #turns: Turn[] = []
  endReason: Error | undefined
  /** The client sent input while a turn ran, which may begin the next one. */
  #hasSpoken = false
  /** Resolves when the hold that is being placed is decided; undefined when none is. */
  #opening: Promise<void> | undefined
  /** A turn's charge is in progress. */
  #isFinishing = false
  /** Provider's ids that were charged: a repetition owes nothing more. */
  readonly #charged = new Set<string>()
  /** The last turn ended without a usage. */
  #isUsageOwed = false

  constructor(options: SessionMeterOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    const hasTurn = this.#turns.some(turn => turn.isStarted || turn.isRequested)
    return this.#isFinishing || hasTurn || this.#options.conversation.isTranscribing
  }

  endAfterTurn(reason: Error): void {
    this.endReason ??= reason
  }

  onClientMessage(data: Buffer): Promise<Buffer | undefined> | Buffer | undefined {
    const event = runSteps(this.#options.reader.onClient(data))
    return event instanceof Promise ? event.then(told => this.#hear(told, data)) : this.#hear(event, data)
  }

  #hear(event: ClientEvent, data: Buffer): Promise<Buffer | undefined> | Buffer | undefined {
    const changed = this.#options.model.take(event, data)
    this.#options.conversation.hear(event)
    if (event.starts === 'input') this.#hasSpoken = true
    return this.#isCovered(event) ? changed : this.#begin(event).then(() => changed)
  }

  /** The turn whose hold is ready for the next response. */
  get #ready(): Turn | undefined {
    return this.#turns.find(turn => !turn.isStarted && !turn.isRequested)
  }

  /** This needs no hold: it begins no turn, or the hold that is ready covers it. */
  #isCovered(event: ClientEvent): boolean {
    if (this.#opening !== undefined || event.starts === 'response') return false
    const ready = this.#ready
    if (ready !== undefined) return this.#options.money.suffices(ready, this.#expected(event))
    return event.starts === undefined || this.#turns.length > 0
  }

  #expected(event: Partial<ClientEvent>): ExpectedTurn {
    const { reader, conversation, tools } = this.#options
    const { outputTokensCap, isSpoken = reader.isSpoken } = event
    const all = [...tools, ...(reader.tools ?? []), ...(event.tools ?? [])]
    return { ...conversation.nextInputs(), outputTokensCap, isSpoken, tools: all }
  }

  async #begin(event: ClientEvent): Promise<void> {
    // An earlier message may be about to open the turn that this one belongs to.
    while (this.#opening !== undefined) await this.#opening
    if (this.#isCovered(event)) return
    this.#checkMayBegin()
    const ready = this.#ready
    const isEnough = ready !== undefined && this.#options.money.suffices(ready, this.#expected(event))
    const turn = isEnough ? ready : await this.#open(event, ready)
    if (event.starts !== 'response') return
    turn.isRequested = true
    turn.isApart = event.isApart === true
    turn.heard = this.#options.conversation.heard
    turn.eventId = event.id
  }

  /** @throws GatewayError when no turn may begin any more */
  #checkMayBegin(): void {
    if (this.endReason !== undefined) throw this.endReason
    this.#options.checkKey()
  }

  /**
   * @param instead the ready turn whose hold is too small
   * @throws GatewayError when no turn may begin any more
   */
  async #open(event: Partial<ClientEvent>, instead?: Turn): Promise<Turn> {
    this.#checkMayBegin()
    const expected = this.#expected(event)
    if (instead !== undefined) this.#turns.splice(this.#turns.indexOf(instead), 1)
    const { money } = this.#options
    const opening = money.open(event.starts === 'input' ? withRoom(expected) : expected, instead)
    this.#opening = opening.then(
      () => undefined,
      () => undefined,
    )
    try {
      const turn = await opening
      turn.isRequested = event.starts === 'response'
      this.#turns.push(turn)
      this.#hasSpoken = false
      return turn
    } finally {
      this.#opening = undefined
    }
  }

  onProviderMessage(data: Buffer): Promise<void> | undefined {
    const events = this.#options.reader.onServer(data)
    if (events.every(event => event.kind === 'output')) {
      for (const event of events) this.#output(event)
      return this.#turns.every(turn => turn.hold.isDurable) ? undefined : this.#durable()
    }
    return this.#take(events)
  }

  async #take(events: readonly ServerEvent[]): Promise<void> {
    for (const event of events) {
      switch (event.kind) {
        case 'started':
          await this.#start(event.turn)
          break
        case 'output':
          this.#output(event)
          break
        case 'usage': {
          const turn = this.#turnOf(undefined)
          // It arrives too late for a turn that was estimated.
          if (turn === undefined || (this.#isUsageOwed && !turn.isStarted)) {
            this.#options.money.alarm('usage_unmatched')
            this.#isUsageOwed = false
          } else turn.usage = event.usage
          break
        }
        case 'finished':
          if (this.#isRepeated(event.turn)) break
          this.#isFinishing = true
          await this.#finish(event).finally(() => (this.#isFinishing = false))
          break
        case 'side':
          if (this.#isRepeated(event.id) || !(await this.#options.money.claim('item', event.id))) break
          await this.#chargeAside(event.usage)
          break
        case 'transcript':
          this.#options.conversation.transcribe(event)
          break
        case 'named':
          await this.#options.money.record(event.object, this.#options.conversation.nextInput())
          break
        case 'model':
          if (!this.#options.model.isKnown(event.name)) this.#options.money.alarm('model_unpriced')
          break
        case 'refused':
          this.#withdraw(event.id)
          break
      }
    }
    await this.#durable()
  }

  #isRepeated(name: string | undefined): boolean {
    if (name === undefined) return false
    const isRepeated = this.#charged.has(name)
    if (isRepeated) this.#options.money.alarm('usage_repeated')
    this.#charged.add(name)
    return isRepeated
  }

  async #durable(): Promise<void> {
    for (const turn of this.#turns) if (!turn.hold.isDurable) await turn.hold.durable
  }

  #turnOf(id: string | undefined): Turn | undefined {
    const started = this.#turns.filter(turn => turn.isStarted)
    return id === undefined ? (started[0] ?? this.#turns[0]) : started.find(turn => turn.id === id)
  }

  #output({ turn: id, textBytes, audioSeconds }: ServerEvent & { kind: 'output' }): void {
    const turn = this.#turnOf(id)
    if (turn === undefined) return
    turn.textBytes += textBytes
    turn.audioSeconds += audioSeconds
  }

  async #start(id: string | undefined): Promise<Turn> {
    while (this.#opening !== undefined) await this.#opening
    const waiting = this.#turns.filter(turn => !turn.isStarted)
    const turn = waiting.find(({ isRequested }) => isRequested) ?? waiting[0] ?? (await this.#openLate())
    turn.isStarted = true
    turn.id = id
    turn.heard ??= this.#options.conversation.heard
    this.#isUsageOwed = false
    return turn
  }

  /** A response began without a hold: it runs already, so it is charged whatever money there is. */
  async #openLate(): Promise<Turn> {
    try {
      return await this.#open({})
    } catch (error) {
      this.endReason ??= error instanceof Error ? error : new Error(String(error))
      const turn = await this.#options.money.openEmpty()
      this.#turns.push(turn)
      return turn
    }
  }

  /** The charge is durable before the message that reports the end goes on. */
  async #finish({ turn: id, usage, isFailed }: ServerEvent & { kind: 'finished' }): Promise<void> {
    const turn = this.#turnOf(id) ?? (await this.#start(id))
    this.#turns.splice(this.#turns.indexOf(turn), 1)
    const { money, conversation, reader } = this.#options
    if (!(await money.claim('response', id))) return money.release(turn)
    const input = conversation.nextInput()
    this.#isUsageOwed = usage === undefined && turn.usage === undefined
    const counted = await money.finish(turn, { usage, isFailed: isFailed === true, input })
    const heard = turn.heard ?? conversation.heard
    if (reader.forgets === true) conversation.count({}, heard)
    else if (counted !== undefined && !turn.isApart) conversation.count(counted, heard)
    if (this.#hasSpoken && reader.startsByItself && this.#turns.length === 0) await this.#openReady()
  }

  /** The hold that is ready for the next turn is released if money is short: this usage was already consumed. */
  async #chargeAside(usage: TurnUsage): Promise<void> {
    const { money } = this.#options
    const shortage = await money.chargeAside(usage, async () => {
      while (this.#opening !== undefined) await this.#opening
      const ready = this.#ready
      if (ready === undefined) return
      this.#turns.splice(this.#turns.indexOf(ready), 1)
      await money.release(ready)
    })
    this.endReason ??= shortage
  }

  /** Input that arrived while the turn ran may begin the next one at once. */
  async #openReady(): Promise<void> {
    try {
      await this.#open({ starts: 'input' })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.endReason ??= error
    }
  }

  /**
   * The provider refused the message that a hold was placed for, or another one to which the client gave the same id,
   * so that the turn may begin after all. Its hold is ready for the next turn.
   */
  #withdraw(eventId: string | undefined): void {
    const waiting = this.#turns.filter(turn => !turn.isStarted && turn.isRequested)
    const turn = eventId === undefined ? waiting[0] : waiting.find(other => other.eventId === eventId)
    if (turn === undefined) return
    turn.isRequested = false
    turn.heard = undefined
  }

  /** The session is over: each open turn is charged or released. */
  async settle(outcome: Outcome): Promise<void> {
    while (this.#opening !== undefined) await this.#opening
    const input = this.#options.conversation.nextInput()
    const settled = await Promise.allSettled(
      this.#turns.splice(0).map(async turn => {
        const isOurs = !turn.isStarted || (await this.#options.money.claim('response', turn.id))
        await (isOurs ? this.#options.money.settle(turn, outcome, input) : this.#options.money.release(turn))
      }),
    )
    const { money, conversation } = this.#options
    for (const transcript of conversation.takeTranscripts()) await money.settleTranscript(transcript, outcome)
    // One that fails does not keep the others open.
    const failed = settled.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}
