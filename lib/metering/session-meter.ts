import { runSteps } from '../bodies/run-steps.ts'
import type { ClientEvent, ServerEvent, SessionReader, TurnUsage } from '../dialects/session.ts'
import { GatewayError } from '../errors.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import type { SessionTap } from '../pipeline/plugin.ts'
import type { SessionMoney, Turn } from './session-money.ts'
import type { Conversation } from './conversation.ts'

export interface SessionMeterOptions {
  readonly reader: SessionReader
  readonly money: SessionMoney
  readonly conversation: Conversation
  /** The model's name as the client wrote it, and as the provider knows it. */
  readonly model: { readonly asked: string; readonly canonical: string; readonly upstream: string }
  /** @throws GatewayError when the key may not be used any more */
  readonly checkKey: () => void
}

/**
 * Holds before each turn, charges after it. Turns that are asked for have a hold each; where responses begin
 * by themselves, one hold stands ready for the next of them.
 */
export class SessionMeter implements SessionTap {
  readonly #options: SessionMeterOptions
  /** Open turns, oldest first. */
  readonly #turns: Turn[] = []
  #endReason: Error | undefined
  /** Something was said while a turn ran, which may begin the next one. */
  #hasSpoken = false
  /** What the last message of a turn waits for. */
  #opening: Promise<void> | undefined

  constructor(options: SessionMeterOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    return this.#turns.some(turn => turn.isStarted || turn.isAskedFor)
  }

  get endReason(): Error | undefined {
    return this.#endReason
  }

  windUp(reason: Error): void {
    this.#endReason ??= reason
  }

  onClientMessage(data: Buffer): Promise<Buffer | undefined> | Buffer | undefined {
    const event = runSteps(this.#options.reader.onClient(data))
    return event instanceof Promise ? event.then(told => this.#hear(told, data)) : this.#hear(event, data)
  }

  #hear(event: ClientEvent, data: Buffer): Promise<Buffer | undefined> | Buffer | undefined {
    const changed = this.#checkModel(event, data)
    this.#options.conversation.hear(event)
    if (event.starts === undefined) return changed
    if (event.starts === 'input') {
      this.#hasSpoken = true
      if (this.#turns.length > 0) return changed
    }
    return this.#begin(event).then(() => changed)
  }

  /** A model named in the middle of a session must be the session's; an alias is replaced by what it means. */
  #checkModel({ model }: ClientEvent, data: Buffer): Buffer | undefined {
    const { asked, canonical, upstream } = this.#options.model
    if (model === undefined || model.name === upstream) return undefined
    if (model.name !== asked && model.name !== canonical) {
      throw new GatewayError('model_not_allowed', 'A session keeps the model that it began with.', {
        param: 'session.model',
      })
    }
    const name = Buffer.from(JSON.stringify(upstream))
    return Buffer.concat([data.subarray(0, model.start), name, data.subarray(model.end)])
  }

  async #begin(event: ClientEvent): Promise<void> {
    // What came before may be about to open the turn that this one belongs to.
    while (this.#opening !== undefined) await this.#opening
    if (event.starts === 'input' && this.#turns.length > 0) return
    const ready = this.#turns.find(turn => !turn.isStarted && !turn.isAskedFor)
    if (ready !== undefined && event.starts === 'response') {
      ready.isAskedFor = true
      ready.eventId = event.id
      return
    }
    await this.#open(event)
  }

  /** @throws GatewayError when nothing more may begin */
  async #open(event: Pick<ClientEvent, 'starts' | 'id' | 'outputTokensCap'>): Promise<Turn> {
    if (this.#endReason !== undefined) throw this.#endReason
    this.#options.checkKey()
    const { money, conversation, reader } = this.#options
    const opening = money.open({
      input: conversation.nextInput(),
      outputTokensCap: event.outputTokensCap,
      isSpoken: reader.isSpoken,
    })
    this.#opening = opening.then(
      () => undefined,
      () => undefined,
    )
    try {
      const turn = await opening
      turn.isAskedFor = event.starts === 'response'
      turn.eventId = event.id
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
          if (turn === undefined) this.#options.money.alarm('usage_unmatched')
          else turn.usage = event.usage
          break
        }
        case 'finished':
          await this.#finish(event)
          break
        case 'side':
          await this.#chargeAside(event.usage)
          break
        case 'named':
          await this.#options.money.record(event.object)
          break
        case 'refused':
          this.#withdraw(event.id)
          break
      }
    }
    await this.#durable()
  }

  async #durable(): Promise<void> {
    for (const turn of this.#turns) if (!turn.hold.isDurable) await turn.hold.durable
  }

  #turnOf(id: string | undefined): Turn | undefined {
    const started = this.#turns.filter(turn => turn.isStarted)
    return id === undefined ? (started[0] ?? this.#turns[0]) : started.find(turn => turn.id === id)
  }

  #output({ turn: id, textBytes, audioBytes }: ServerEvent & { kind: 'output' }): void {
    const turn = this.#turnOf(id)
    if (turn === undefined) return
    turn.textBytes += textBytes
    turn.audioBytes += audioBytes
  }

  async #start(id: string | undefined): Promise<Turn> {
    while (this.#opening !== undefined) await this.#opening
    const waiting = this.#turns.filter(turn => !turn.isStarted)
    const turn = waiting.find(({ isAskedFor }) => isAskedFor) ?? waiting[0] ?? (await this.#openLate())
    turn.isStarted = true
    turn.id = id
    return turn
  }

  /** A response began that nobody held for: it runs already, so it is charged whatever there is. */
  async #openLate(): Promise<Turn> {
    try {
      return await this.#open({})
    } catch (error) {
      this.#endReason ??= error instanceof Error ? error : new Error(String(error))
      const turn = await this.#options.money.openEmpty()
      this.#turns.push(turn)
      return turn
    }
  }

  /** The charge is durable before the message that tells of the end goes on. */
  async #finish({ turn: id, usage, isFailed }: ServerEvent & { kind: 'finished' }): Promise<void> {
    const turn = this.#turnOf(id) ?? (await this.#start(id))
    this.#turns.splice(this.#turns.indexOf(turn), 1)
    const { money, conversation, reader } = this.#options
    const input = conversation.nextInput()
    const counted = await money.finish(turn, { usage, isFailed: isFailed === true, input })
    if (counted !== undefined) conversation.count(counted)
    if (this.#hasSpoken && reader.startsByItself && this.#turns.length === 0) await this.#standReady()
  }

  /** What stands ready for the next turn gives way: this was consumed already. */
  async #chargeAside(usage: TurnUsage): Promise<void> {
    const { money } = this.#options
    const shortage = await money.chargeAside(usage, async () => {
      while (this.#opening !== undefined) await this.#opening
      const ready = this.#turns.findIndex(turn => !turn.isStarted && !turn.isAskedFor)
      const [turn] = ready === -1 ? [] : this.#turns.splice(ready, 1)
      if (turn !== undefined) await money.release(turn)
    })
    this.#endReason ??= shortage
  }

  /** What was said while the turn ran may begin the next one at once. */
  async #standReady(): Promise<void> {
    try {
      await this.#open({ starts: 'input' })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#endReason ??= error
    }
  }

  /**
   * The provider refused what a hold was placed for, or something else that a client gave the same id, so
   * that the turn may begin after all. Its hold stands ready for the next one.
   */
  #withdraw(eventId: string | undefined): void {
    const waiting = this.#turns.filter(turn => !turn.isStarted && turn.isAskedFor)
    const turn = eventId === undefined ? waiting[0] : waiting.find(other => other.eventId === eventId)
    if (turn !== undefined) turn.isAskedFor = false
  }

  /** The session is over: each turn that is open is charged or released. */
  async settle(outcome: Outcome): Promise<void> {
    while (this.#opening !== undefined) await this.#opening
    const input = this.#options.conversation.nextInput()
    for (const turn of this.#turns.splice(0)) await this.#options.money.settle(turn, outcome, input)
  }
}
