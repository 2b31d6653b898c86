import type { Exchange, Outcome } from './exchange.ts'
import type { TurnRelay } from './turn-relay.ts'
import type { SessionControls, SessionSink, SessionTap } from './plugin.ts'

/** The pipeline's part of each step of a session. */
export interface SessionSteps {
  openTaps(exchange: Exchange): readonly SessionTap[]
  settle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined
  /** Responds with an error in the caller's dialect: by HTTP, or over the WebSocket once it is open. */
  refuse(exchange: Exchange, error: Error): void
  beginTurn(exchange: Exchange): Promise<TurnRelay>
  end(relay: SessionRelay, outcome: Outcome): void
}

type Phase = 'gates' | 'forwarding' | 'open' | 'settling' | 'ended'

/**
 * The course of a session after its gates. Turns are charged while it runs; what is open at its end is settled then,
 * once.
 */
export class SessionRelay implements SessionSink {
  readonly exchange: Exchange
  slot = -1
  readonly #steps: SessionSteps
  #phase: Phase = 'gates'
  #controls: SessionControls | undefined
  cutReason: Error | undefined

  constructor(exchange: Exchange, steps: SessionSteps) {
    this.exchange = exchange
    this.#steps = steps
    exchange.response.once('close', () => {
      exchange.hasClientLeft = true
      if (this.#phase === 'forwarding') this.#controls?.cut(new Error('The client left.'))
    })
  }

  open(): void {
    this.#phase = 'forwarding'
    this.exchange.moments.admittedMs = performance.now()
  }

  attach(controls: SessionControls): void {
    this.#controls = controls
  }

  onOpen(): readonly SessionTap[] {
    this.#phase = 'open'
    this.exchange.moments.firstByteMs = performance.now()
    return this.#steps.openTaps(this.exchange)
  }

  beginTurn(exchange: Exchange): Promise<TurnRelay> {
    return this.#steps.beginTurn(exchange)
  }

  /** No session opened. */
  onError(error: Error): void {
    if (this.#phase === 'gates' || this.#phase === 'forwarding') {
      this.#settle(this.exchange.hasClientLeft ? { kind: 'aborted' } : { kind: 'refused', error })
    } else if (this.#phase === 'open') {
      this.#settle({ kind: 'broken', error })
    }
  }

  onEnd(outcome: Outcome): void {
    if (this.#phase === 'forwarding' || this.#phase === 'open') this.#settle(outcome)
  }

  abandon(): void {
    if (this.#phase === 'gates') this.#settle({ kind: 'aborted' })
  }

  /** Ends the session after the turn in progress. */
  endAfterTurn(reason: Error): void {
    if (this.#phase === 'gates') this.#cutInGates(reason)
    else this.#controls?.endAfterTurn(reason)
  }

  /** A session still in its gates was already cut when the drain started. */
  cut(reason: Error): void {
    this.#controls?.cut(reason)
  }

  /** Closes the connection: a gate that waits for the client's first message would go on waiting. */
  #cutInGates(reason: Error): void {
    this.cutReason = reason
    this.exchange.response.socket?.destroy()
  }

  #settle(outcome: Outcome): void {
    this.#phase = 'settling'
    const pending = this.#steps.settle(this.exchange, outcome)
    if (pending === undefined) this.#finish(outcome)
    else {
      pending.then(
        () => this.#finish(outcome),
        // The plugin's failure is already reported; the amount owed stays owed.
        () => this.#finish(outcome),
      )
    }
  }

  #finish(outcome: Outcome): void {
    this.#phase = 'ended'
    if (outcome.kind === 'refused' && !this.exchange.hasClientLeft)
      this.#steps.refuse(this.exchange, outcome.error)
    this.#steps.end(this, outcome)
  }
}
